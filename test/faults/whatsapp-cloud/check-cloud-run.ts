import assert from 'node:assert/strict'
import { collectLedger, drain, type Recorded } from '../../support/black-box/collect-ledger.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { assertClean } from '../../support/ledger/assert-clean.ts'
import { assertLedgerSeesFaults } from '../../support/ledger/assert-sees-faults.ts'
import { checkLedger, type Ledger } from '../../support/ledger/check-ledger.ts'
import type { DeliveredEntry, LedgerInput, ListedMessage, SentRequest } from '../../support/ledger/ledger-input.ts'
import type { CallbackTry, SentMessage, Simulator } from '../../support/whatsapp-cloud/simulator-types.ts'

// A lane whose call was lost waits a minute, until no report can come any more. Several calls may be lost one after another: one
// by the network, and one at each kill.
const DRAINED_WITHIN_MS = 300_000
const APPLIED_WITHIN_MS = 20_000
const RANKS = ['PUBLISHED', 'DELIVERED', 'READ']
const RANK_OF: Readonly<Record<string, string>> = { sent: 'PUBLISHED', delivered: 'DELIVERED', read: 'READ' }

/** Compares what callers were answered, what the log says, what phones received and what the network has reported. */
export async function checkCloudRun(
  world: Recorded,
  requests: readonly SentRequest[],
  simulator: Simulator,
): Promise<Ledger> {
  await drain(world.cli, DRAINED_WITHIN_MS)
  await simulator.callbacksIdle()
  const reported = findReported(simulator.callbackTries)
  const listed = () => world.cli.json<ListedMessage[]>('message', 'list')
  // A report is answered when it is stored, and applied a moment later.
  const areApplied = async () => findBehind(await listed(), reported).length === 0
  await waitUntil('all reports are applied', areApplied, { deadlineMs: APPLIED_WITHIN_MS, everyMs: 500 }).catch(
    () => {},
  )

  const input = { ...(await collectLedger(world, requests)), inbox: simulator.sent.map(asDelivered) }
  const ledger = checkLedger(input)
  assertClean(ledger)
  assert.deepEqual(findBehind(input.messages, reported), [])
  assertLedgerSeesFaults(input)
  assertSeesUnapplied(input, reported)
  return ledger
}

/** The message id that we sent along identifies the message that a phone has received. A text without it belongs to no message. */
export function asDelivered({ opaque, from, waId, type, text, media, at }: SentMessage): DeliveredEntry {
  return {
    messageId: messageIdIn(opaque),
    connection: from,
    to: waId,
    type: type === 'text' ? 'message' : type,
    text: type === 'text' ? text : null,
    caption: type === 'text' ? null : text,
    name: media?.filename ?? null,
    sizeBytes: media?.upload?.bytes.length ?? null,
    sha256: media?.upload?.sha256 ?? null,
    deliveredAt: at,
  }
}

function messageIdIn(opaque: string | null): string {
  return opaque?.split('#')[0] ?? ''
}

/** For each message, the latest state in a report that the service has acknowledged. */
function findReported(tries: readonly CallbackTry[]): ReadonlyMap<string, string> {
  const reported = new Map<string, string>()
  for (const { status, body } of tries) {
    if (status !== 200) continue
    for (const [id, kind] of statusesIn(body)) {
      const state = RANK_OF[kind]
      if (state && RANKS.indexOf(state) > RANKS.indexOf(reported.get(id) ?? '')) reported.set(id, state)
    }
  }
  return reported
}

interface Callback {
  readonly entry: readonly {
    readonly changes: readonly {
      readonly value: { readonly statuses?: readonly { status: string; biz_opaque_callback_data: string }[] }
    }[]
  }[]
}

function statusesIn(body: string): (readonly [id: string, kind: string])[] {
  const { entry } = JSON.parse(body) as Callback
  return entry
    .flatMap(({ changes }) => changes)
    .flatMap(({ value }) => value.statuses ?? [])
    .map(({ status, biz_opaque_callback_data }) => [messageIdIn(biz_opaque_callback_data), status] as const)
}

/** The messages whose state in the log differs from the acknowledged reports. */
function findBehind(messages: readonly ListedMessage[], reported: ReadonlyMap<string, string>): string[] {
  return messages.flatMap(({ id, state }) => {
    const wanted = reported.get(id)
    return wanted !== undefined && wanted !== state ? [`${id} is ${state}, but was reported as ${wanted}`] : []
  })
}

function assertSeesUnapplied({ messages }: LedgerInput, reported: ReadonlyMap<string, string>): void {
  const some = messages.find(({ id }) => reported.has(id))
  assert.ok(some, 'Nothing was reported: the run has shown nothing')
  assert.notDeepEqual(findBehind([{ ...some, state: 'UNCONFIRMED' }], reported), [])
}
