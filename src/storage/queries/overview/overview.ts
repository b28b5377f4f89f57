import type { AccountId, Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import { type Actor, FIRST_START_ACTOR } from '../../../core/ports/administration.ts'
import type { FirstSteps, Overview, OverviewView, WantedOverview } from '../../../core/ports/console/overview.ts'
import { readHold, releaseOwnHold } from '../lanes/hold.ts'
import { isOnlyAccount } from '../people/is-only-account.ts'
import { change, type Reader, type Store } from '../store.ts'
import { noteAttentionSeen, readAttention } from './attention.ts'
import { countSent } from './count-sent.ts'
import { ALL_CONNECTIONS, totalsOf } from './hour-tally.ts'
import { readBars } from './read-bars.ts'
import { type Recent, readRecent } from './recent.ts'
import { readRetention } from './retention.ts'
import { readWaiting } from './waiting-lanes.ts'

const MOST_MESSAGES = 1_000
// The account, a number and a token.
const MADE_AT_FIRST_START = 3
const MOST_ROWS = 4_000

/** Learns that a person is watching, so that counting is faster for a while. */
export interface Watched {
  noteWatched(): void
}

export function createOverview(store: Store, counter: Watched | null = null): Overview {
  return {
    readOverview(wanted) {
      counter?.noteWatched()
      return readOverview(store, wanted)
    },
    countSent(wanted) {
      counter?.noteWatched()
      return countSent(store, wanted)
    },
    readRetention(accountId) {
      counter?.noteWatched()
      return readRetention(store, accountId)
    },
    readAttention(accountId) {
      counter?.noteWatched()
      return readAttention(store, accountId)
    },
    noteAttentionSeen: (accountId, seen, actor) => noteAttentionSeen(store, { accountId, ...seen }, actor),
    noteMessageSeen: (accountId, actor) => noteMessageSeen(store, accountId, actor),
    releaseHold: (accountId, actor) => releaseOwnHold(store, accountId, actor),
  }
}

async function readOverview(store: Store, wanted: WantedOverview): Promise<OverviewView> {
  const { accountId, range } = wanted
  const now = store.now()
  const recent = await readRecent(store, accountId, now)
  const [{ from, barMs, bars, countedAt, isComplete }, { latency, ...waiting }, others] = await Promise.all([
    readBars(store, wanted, { now, recent }),
    readFlow(store, accountId, now),
    readPeers(store, accountId, recent),
  ])
  return {
    ...{ now, range, from, barMs, bars, countedAt, isComplete },
    totals: totalsOf(bars),
    latency,
    ...waiting,
    ...others,
  }
}

async function readFlow(store: Store, accountId: AccountId, now: Instant) {
  const { head, ...waiting } = await readWaiting(store, accountId, now)
  return { ...waiting, latency: await readLatency(store, accountId, head) }
}

async function readPeers(store: Store, accountId: AccountId, recent: Recent | null) {
  const hold = await readHold(store)
  return {
    hold: hold && { ...hold, isOwn: await isOnlyAccount(store.database, accountId) },
    firstSteps: await readFirstSteps(store, accountId, recent),
  }
}

/** The first steps that a new account has done; null once a person has seen one of its messages in the log. */
async function readFirstSteps(store: Store, accountId: AccountId, recent: Recent | null): Promise<FirstSteps | null> {
  const { database } = store
  if (await hasSeenMessage(database, accountId)) return null
  const connection = await database
    .selectFrom('connection')
    .select('id')
    .where('account_id', '=', accountId)
    .where('state', '<>', 'removed')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  const token = await database
    .selectFrom('token')
    .select('id')
    .where('account_id', '=', accountId)
    .where('deleted_at', 'is', null)
    .where('expires_at', '>', store.now())
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
  const message = recent === null || recent.messages.length > 0 || (await hasCounted(store, accountId))
  const made = await listMadeAtFirstStart(database, accountId)
  const byFirstStart = { connection: made.has(connection?.id ?? ''), token: made.has(token?.id ?? '') }
  return { connection: connection !== undefined, token: token !== undefined, message, byFirstStart }
}

/** The ids of what the first start made. Nothing in the audit log of the account is older. */
async function listMadeAtFirstStart(tables: Reader, accountId: AccountId): Promise<ReadonlySet<string>> {
  const oldest = await tables
    .selectFrom('audit')
    .select(['actor', 'object'])
    .where('account_id', '=', accountId)
    .orderBy('sequence')
    .limit(MADE_AT_FIRST_START)
    .execute()
  return new Set(oldest.filter(({ actor }) => actor === FIRST_START_ACTOR).map(({ object }) => object))
}

/** A person has seen a message of the account in the log. Only the first time is written. */
async function noteMessageSeen(store: Store, accountId: AccountId, actor: Actor): Promise<void> {
  if (await hasSeenMessage(store.database, accountId)) return
  await change(store, actor, async ({ tables, at }) => {
    await tables.updateTable('account').set({ message_seen_at: at }).where('id', '=', accountId).execute()
  })
}

async function hasSeenMessage(tables: Reader, accountId: AccountId): Promise<boolean> {
  const account = await tables
    .selectFrom('account')
    .select('message_seen_at')
    .where('id', '=', accountId)
    .executeTakeFirst()
  return (account?.message_seen_at ?? null) !== null
}

async function hasCounted({ database }: Store, accountId: AccountId): Promise<boolean> {
  const counted = await database
    .selectFrom('tally')
    .select('hour')
    .where('account_id', '=', accountId)
    .where('connection_id', '=', ALL_CONNECTIONS)
    .where('state', '<>', 'refused')
    .limit(1)
    .executeTakeFirst()
  return counted !== undefined
}

type Latency = OverviewView['latency']

/**
 * The latency of the newest published messages. Behind a long queue none is among the newest rows: then the rows before the
 * head of the most advanced lane are read.
 */
async function readLatency(store: Store, accountId: AccountId, head: Sequence | null): Promise<Latency> {
  const newest = await findTook(store, accountId, Number.MAX_SAFE_INTEGER)
  return summaryOf(newest.length > 0 || head === null ? newest : await findTook(store, accountId, head))
}

async function findTook({ database, engine }: Store, accountId: AccountId, end: Sequence): Promise<readonly number[]> {
  const took: number[] = []
  let left = MOST_ROWS
  for (const { from, before } of await engine.spans(database)) {
    if (from >= end || left === 0 || took.length >= MOST_MESSAGES) continue
    const rows = await database
      .selectFrom('message')
      .select(['accepted_at', 'published_at', 'reason'])
      .where(engine.ofAccount(accountId, { from, before: Math.min(before, end) }))
      .orderBy('account_id', 'desc')
      .orderBy('sequence', 'desc')
      .limit(left)
      .execute()
    left -= rows.length
    // When a message marked as arrived left is unknown: a person said so, maybe days later. A clock that was set back makes no
    // message fast.
    for (const { accepted_at: acceptedAt, published_at: publishedAt, reason } of rows)
      if (publishedAt !== null && reason !== 'marked_arrived') took.push(Math.max(0, publishedAt - acceptedAt))
  }
  return took.slice(0, MOST_MESSAGES)
}

function summaryOf(took: readonly number[]): Latency {
  if (took.length === 0) return null
  const sorted = [...took].sort((one, other) => one - other)
  const at = (share: number) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
  return { messages: sorted.length, p50Ms: at(0.5), p95Ms: at(0.95) }
}
