import { sql } from 'kysely'
import type { ConnectionId, Instant } from '../../../core/ids.ts'
import { type Earlier, findStops, findWaits, gapsOf, type Standstill } from '../../../core/message/find-waits.ts'
import type { MessageState, Sequence } from '../../../core/message/message.ts'
import { type OwnWaitFacts, readOwnWait } from '../../../core/message/own-wait.ts'
import type { TimelineEntry } from '../../../core/ports/administration.ts'
import type { AttemptFacts } from '../../../core/ports/lanes.ts'
import type { AlarmFacts } from '../../../core/watchdog/alarm.ts'
import type { AlarmKind } from '../../../core/watchdog/alarm-kinds.ts'
import { readStandstills } from '../lanes/standstills.ts'
import type { Reader, Reading } from '../store.ts'
import type { MessageDetails } from './message-details.ts'

const COUNTED = 1_000
const FINISHED_IN_A_ROW = 100
// Sequences of all accounts, of which only the account's own rows are read.
const PART = 2_000
const PARTS = 10

const DROPPED: ReadonlySet<string> = new Set<MessageState>(['FAILED', 'EXPIRED', 'CANCELLED'])

interface StoredAttempt {
  readonly started_at: Instant
  readonly ended_at: Instant
  readonly facts: string | null
}

interface Waited {
  readonly message: MessageDetails
  readonly attempts: readonly StoredAttempt[]
  readonly fileAt: Instant | null
  /** What it waited for itself when its time was over. */
  readonly droppedFor: OwnWaitFacts | null
  readonly now: Instant
}

/** What a message waited for, and when Nuncio stood still meanwhile. */
export async function readWaits(reading: Reading, waited: Waited): Promise<readonly TimelineEntry[]> {
  const { message, fileAt, droppedFor, now } = waited
  const from = message.accepted_at
  const attempts = attemptsOf(waited)
  const endedAt = attempts.at(-1)?.endedAt ?? from
  const { settled_at: settledAt } = message
  const isDropped = DROPPED.has(message.state) && attempts.length >= message.attempts
  const droppedAt = isDropped && settledAt !== null && settledAt > endedAt ? settledAt : null
  const gaps = gapsOf({ acceptedAt: from, attempts, droppedAt, droppedFor })
  const to = settledAt ?? now
  const standstills = await readAll(reading.tables, message.connection_id, { from, to })
  const earlier = gaps.some(({ isFirst }) => isFirst) ? await readEarlier(reading, message) : null
  return [
    ...findWaits({ acceptedAt: from, attempts, droppedAt, droppedFor, fileAt, standstills, earlier }),
    ...findStops(standstills, { from, to }),
  ]
}

/** An open attempt ends a wait, too. */
function attemptsOf({ message, attempts, now }: Waited) {
  const ended = attempts.map(({ started_at: startedAt, ended_at: endedAt, facts }) => ({
    startedAt,
    endedAt,
    own: readOwnWait(JSON.parse(facts ?? '{}') as AttemptFacts),
  }))
  const { open_started_at: startedAt } = message
  return startedAt === null ? ended : [...ended, { startedAt, endedAt: now, own: null }]
}

async function readAll(
  tables: Reader,
  connectionId: ConnectionId,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<readonly Standstill[]> {
  const kept = [
    ...(await readStandstills(tables, connectionId, { from, to })),
    ...(await readPresent(tables, connectionId)),
  ]
  const alarms = await tables
    .selectFrom('alarm')
    .select(['since', 'facts'])
    .where('kind', '=', 'storage_unavailable' satisfies AlarmKind)
    .where('since', '<', to)
    .orderBy('id', 'desc')
    .limit(100)
    .execute()
  const outages = alarms.map(({ since, facts }): Standstill => {
    const { until, cause } = JSON.parse(facts) as AlarmFacts
    const words = typeof cause === 'string' ? cause : null
    return { reason: 'storage_unavailable', since, until: Number(until), words, begunBy: null, endedBy: null }
  })
  return [...kept, ...outages.filter(({ until }) => until !== null && until > from)]
}

/** What the lane waits for now: it is kept when it is over. */
async function readPresent(tables: Reader, connectionId: ConnectionId): Promise<readonly Standstill[]> {
  const lane = await tables
    .selectFrom('lane')
    .select(['wait_reason as reason', 'wait_since as since', 'wait_until as until'])
    .where('connection_id', '=', connectionId)
    .executeTakeFirst()
  if (!lane?.reason || lane.since === null || lane.reason === 'all_deferred') return []
  return [{ reason: lane.reason, since: lane.since, until: lane.until, words: null, begunBy: null, endedBy: null }]
}

/** Deferred messages from long before stand aside, so the search ends where the lane had finished what came before. */
async function readEarlier({ tables, engine }: Reading, message: MessageDetails): Promise<Earlier> {
  const { account_id: accountId, connection_id: connectionId, accepted_at: acceptedAt } = message
  const waiting: { readonly sequence: Sequence; readonly settled_at: Instant | null }[] = []
  let [before, finished] = [message.sequence, 0]
  for (let part = 0; part < PARTS && before > 0 && finished < FINISHED_IN_A_ROW && waiting.length < COUNTED; part++) {
    const range = { from: Math.max(0, before - PART), before }
    const rows = await tables
      .selectFrom('message')
      .select(['sequence', 'settled_at'])
      .where(engine.ofAccount(accountId, range))
      .where('connection_id', '=', connectionId)
      .orderBy('account_id', 'desc')
      .orderBy('sequence', 'desc')
      .execute()
    for (const row of rows) {
      const wasFinished = row.settled_at !== null && row.settled_at <= acceptedAt
      finished = wasFinished ? finished + 1 : 0
      if (finished >= FINISHED_IN_A_ROW || waiting.length >= COUNTED) break
      if (!wasFinished) waiting.push(row)
    }
    before = range.from
  }
  const last = waiting.find(({ settled_at: settledAt }) => settledAt !== null) ?? null
  return { count: waiting.length, isMore: waiting.length >= COUNTED, lastOpenMs: await openMsOf(tables, last) }
}

/** How long it stayed open after an attempt with an unknown result. */
async function openMsOf(
  tables: Reader,
  last: { readonly sequence: Sequence; readonly settled_at: Instant | null } | null,
): Promise<number> {
  if (!last?.settled_at) return 0
  const begun = await tables
    .selectFrom('attempt')
    .select('started_at as at')
    .where('message_sequence', '=', last.sequence)
    .where((its) => its.or([its('outcome', '=', sql.lit('unknown')), its('code', '=', sql.lit('evidence_found'))]))
    .orderBy('number', 'desc')
    .limit(1)
    .executeTakeFirst()
  return begun ? last.settled_at - begun.at : 0
}
