import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { MessageId } from '../../../src/core/ids.ts'
import { openAdministration as openPostgres } from '../../../src/storage/postgres/queries/open-administration.ts'
import { openAdministration as openSqlite } from '../../../src/storage/sqlite/queries/open-administration.ts'
import { findDatabase, type Recorded } from '../../support/black-box/collect-ledger.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import type { DeliveredEntry, ListedMessage, SentRequest } from '../../support/ledger/ledger-input.ts'

// Shared by tests that move a database back to an older state and then act as its operator.

type Cli = Pick<NuncioCli, 'run' | 'json'>

const HELD_WITHIN_MS = 15_000
// Longer than the interval at which both engines poll for lanes with work.
const NOTHING_SENT_FOR_MS = 5_000

/** Returns how long the hold took to begin. */
export async function waitUntilHeld(cli: Cli): Promise<number> {
  const from = performance.now()
  await waitUntil('all lanes are held', () => isHeld(cli), { withinMs: HELD_WITHIN_MS })
  return Math.round(performance.now() - from)
}

export async function isHeld(cli: Cli): Promise<boolean> {
  return (await cli.json<{ held: boolean }>('hold')).held
}

/** Asserts what people see of a hold. */
export async function assertHoldIsShown(cli: Cli, why: RegExp): Promise<void> {
  const [waiting] = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
  const hold = await cli.run('hold')
  const attention = await cli.run('attention')
  const timeline = await cli.run('message', 'explain', waiting?.id ?? '')

  assert.match(hold.stdout, why)
  assert.match(hold.stdout, / then: .*nuncio .*hold --release\n$/)
  // An alarm about the time without writes may come first.
  assert.match(attention.stdout, new RegExp(why, 'm'))
  assert.match(
    timeline.stdout,
    /\nWhy: The database (?:may be older than it was|was restored from a backup|server was replaced)/,
  )
  assert.match(timeline.stdout, /What to do: .*nuncio .*hold --release/)
}

/** Call it while the lanes are held. A call that was open when the database went back may end now, one for each connection. */
export async function assertNothingIsSent(cli: Cli): Promise<void> {
  const inbox = () => cli.json<DeliveredEntry[]>('sandbox', 'inbox')
  const waiting = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
  let before = await inbox()
  await setTimeout(NOTHING_SENT_FOR_MS)
  let after = await inbox()
  if (after.length !== before.length) {
    const known = new Set(before.map(keyOf))
    const ended = after.filter((entry) => !known.has(keyOf(entry))).map(({ connection }) => connection)
    assert.equal(new Set(ended).size, ended.length, `More than one call for a connection while held: ${ended.join()}`)
    before = after
    await setTimeout(NOTHING_SENT_FOR_MS)
    after = await inbox()
  }
  assert.deepEqual(after, before, 'Something was sent while all lanes were held')
  assert.ok(waiting.length > 0, 'Nothing waited, so nothing was shown')
}

function keyOf({ messageId, deliveredAt }: DeliveredEntry): string {
  return `${messageId} ${String(deliveredAt)}`
}

/** Cancels what was sent, as a person does who knows it. Returns how many messages would have been sent again. */
export async function cancelWhatWasSent(recorded: Recorded, truth: readonly DeliveredEntry[]): Promise<number> {
  const { cli } = recorded
  // Calls that were open when the database went back have ended since, and are in the inbox.
  const ended = await cli.json<DeliveredEntry[]>('sandbox', 'inbox')
  const sent = new Set([...truth, ...ended].map(({ messageId }) => messageId))
  const waiting = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
  const repeats = waiting.filter(({ id }) => sent.has(id))
  // One connection for all: there may be hundreds, and each command opens its own.
  const visit = await withDatabaseOf(recorded)
  for (const { id } of repeats) await visit.administration.cancelMessage(id as MessageId, 'test')
  await visit.close()
  return repeats.length
}

function withDatabaseOf({ databaseUrl: url, dataDir }: Recorded) {
  const options = { create: false, now: () => Date.now() }
  if (url !== undefined) return openPostgres({ url, migrateUrl: url }, options)
  return openSqlite(findDatabase(dataDir), options)
}

/** Finds messages that were delivered both before and again after. A delivery that both lists have is the same one. */
export function findSentTwice(before: readonly DeliveredEntry[], after: readonly DeliveredEntry[]): string[] {
  const sentAt = new Map(before.map((entry) => [entry.messageId, String(entry.deliveredAt)]))
  return after
    .filter(({ messageId, deliveredAt }) => sentAt.has(messageId) && sentAt.get(messageId) !== toText(deliveredAt))
    .map(({ messageId, to }) => `${messageId} to ${to} was sent again`)
}

function toText(moment: number | string): string {
  return typeof moment === 'number' ? new Date(moment).toISOString() : moment
}

/** Treats acknowledged messages that are gone as requests without an answer. Returns how many there are. */
export async function splitLost(
  cli: Cli,
  requests: readonly SentRequest[],
): Promise<{ readonly requests: readonly SentRequest[]; readonly lost: number }> {
  const there = new Set((await cli.json<ListedMessage[]>('message', 'list')).map(({ id }) => id))
  const isLost = ({ answer }: SentRequest) => answer.kind === 'acked' && !there.has(answer.messageId)
  return {
    requests: requests.map((request) =>
      isLost(request) ? { ...request, answer: { kind: 'unknown' } as const } : request,
    ),
    lost: requests.filter(isLost).length,
  }
}
