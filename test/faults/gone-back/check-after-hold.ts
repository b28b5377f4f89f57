import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { MessageId } from '../../../src/core/ids.ts'
import { openAdministration as openPostgres } from '../../../src/storage/postgres/queries/open-administration.ts'
import { openAdministration as openSqlite } from '../../../src/storage/sqlite/queries/open-administration.ts'
import { findDatabase, type Recorded } from '../../support/black-box/collect-ledger.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import type { DeliveredEntry, ListedMessage, SentRequest } from '../../support/ledger/ledger-input.ts'

// What tests share that bring a database back to an older state, and then do what its operator does.

type Cli = Pick<NuncioCli, 'run' | 'json'>

const HELD_WITHIN_MS = 15_000
// Longer than the time between two polls for lanes that have something to do, on both engines.
const NOTHING_SENT_FOR_MS = 5_000

/** Returns how long it took. */
export async function waitUntilHeld(cli: Cli): Promise<number> {
  const from = performance.now()
  await waitUntil('all lanes are held', () => isHeld(cli), { withinMs: HELD_WITHIN_MS })
  return Math.round(performance.now() - from)
}

export async function isHeld(cli: Cli): Promise<boolean> {
  return (await cli.json<{ held: boolean }>('hold')).held
}

/** What people are shown of a hold. */
export async function assertHoldIsShown(cli: Cli, why: RegExp): Promise<void> {
  const [waiting] = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
  const hold = await cli.run('hold')
  const attention = await cli.run('attention')
  const timeline = await cli.run('message', 'explain', waiting?.id ?? '')

  assert.match(hold.stdout, why)
  assert.match(hold.stdout, / then: .*nuncio .*hold --release\n$/)
  // Behind an alarm of the time in which nothing could be written.
  assert.match(attention.stdout, new RegExp(why, 'm'))
  assert.match(
    timeline.stdout,
    /\nWhy: The database (?:may be older than it was|was restored from a backup|server was replaced)/,
  )
  assert.match(timeline.stdout, /What to do: .*nuncio .*hold --release/)
}

/** To be called while the lanes are held. A call that was open when it went back is brought to its end: one for each connection. */
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

/** As a person does who knows what was sent. Returns how many would have been sent again. */
export async function cancelWhatWasSent(recorded: Recorded, truth: readonly DeliveredEntry[]): Promise<number> {
  const { cli } = recorded
  // Calls that were open when it went back have ended since, and are in what is left.
  const ended = await cli.json<DeliveredEntry[]>('sandbox', 'inbox')
  const sent = new Set([...truth, ...ended].map(({ messageId }) => messageId))
  const waiting = await cli.json<ListedMessage[]>('message', 'list', '--state', 'QUEUED')
  const repeats = waiting.filter(({ id }) => sent.has(id))
  // One visit for all: there may be hundreds, and each command makes a connection of its own.
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

/** What was delivered before and again after. One that both know is the same delivery. */
export function findSentTwice(before: readonly DeliveredEntry[], after: readonly DeliveredEntry[]): string[] {
  const sentAt = new Map(before.map((entry) => [entry.messageId, String(entry.deliveredAt)]))
  return after
    .filter(({ messageId, deliveredAt }) => sentAt.has(messageId) && sentAt.get(messageId) !== toText(deliveredAt))
    .map(({ messageId, to }) => `${messageId} to ${to} was sent again`)
}

function toText(moment: number | string): string {
  return typeof moment === 'number' ? new Date(moment).toISOString() : moment
}

/** What was acknowledged and is gone counts as if it had never been answered. Returns how many these are. */
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
