import { setImmediate } from 'node:timers/promises'
import {
  type AdapterCapabilities,
  reportsArrival,
  storedCapabilities,
} from '../../../core/connection/adapter-capabilities.ts'
import { LONGEST_LEASE_MS, validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import type { AccountId, ConnectionId, Instant, TokenId } from '../../../core/ids.ts'
import { REPORTS_NOTED_EVERY_MS } from '../../../core/ports/channel-connections.ts'
import {
  BROKEN_PROMISE_KIND,
  type BrokenPromises,
  CHANGED_CAPABILITIES_KIND,
  type ChangedCapabilities,
  CONTACT_LOCK_KIND,
  type ContactLock,
  type ExpiredUse,
  type FullLane,
  type Throttle,
  type UnannouncedAlarm,
  type Unreported,
  type Watch,
  type WatchedToken,
} from '../../../core/ports/watch.ts'
import type { AlarmFacts } from '../../../core/watchdog/alarm.ts'
import { isAlarmKind } from '../../../core/watchdog/alarm-kinds.ts'
import { pages } from '../pages.ts'
import type { WatchDatabase } from './watch-database.ts'
import { readLanes, readLanesOf, readLostSessions } from './watched-lanes.ts'

const CONNECTIONS_AT_ONCE = 100
const MOST_COUNTED = 1_000

// More tokens than end at about the same time anywhere.
const MOST_TOKENS = 5_000
// The share of one account, so that an account with many tokens does not keep the tokens of others from being watched (G8).
const MOST_TOKENS_OF_ACCOUNT = 250
const MOST_OPEN = 10_000
// A caller with an expired token keeps trying, so it is among the newest refusals of its account.
const REQUESTS_BACK = 500
const UNANNOUNCED_AT_ONCE = 200

interface WatchParts {
  readonly database: WatchDatabase
  readonly now: () => Instant
  readonly limits: { readonly maxWaitingPerConnection: number; readonly maxWaitingPerAccount: number }
}

/** What the watchdog reads and writes, over either engine. */
export function createWatch({ database, now, limits }: WatchParts): Watch {
  return {
    acquireLease: (watcher, lastsMs) => database.acquireLease(watcher, lastsMs),
    releaseLease: (watcher) => database.releaseLease(watcher),
    readLanes: (after, limit) => readLanes(database, { after, limit, now: now() }),
    readLanesOf: (ids) => readLanesOf(database, ids, now()),
    readLostSessions: () => readLostSessions(database),
    measureLanes: (lanes) => database.measureLanes(lanes),
    readInstallation: () => readInstallation(database, now()),
    readUnconfirmed: () => database.readUnconfirmed(),
    readUnreported: (silentForMs) => readUnreported(database, { silentForMs, now: now() }),
    readBrokenPromises: () => readBrokenPromises(database),
    readChangedCapabilities: () => readChangedCapabilities(database),
    readContactLocks: () => readContactLocks(database, now()),
    readOnlyAccount: () => readOnlyAccount(database),
    readTokens: (ending) => readTokens(database, ending),
    readExpiredUse: (tokens) => readExpiredUse(database, tokens),
    readFullLanes: (share, throttle) => readFullLanes({ database, limits }, share, throttle),
    ...alarmVerbs(database),
  }
}

type AlarmVerbs = Pick<
  Watch,
  | 'readOpenAlarms'
  | 'raiseAlarms'
  | 'changeAlarms'
  | 'clearAlarms'
  | 'readUnannouncedAlarms'
  | 'markAnnounced'
  | 'forgetAlarms'
>

function alarmVerbs(database: WatchDatabase): AlarmVerbs {
  return {
    async readOpenAlarms() {
      const sql = `select ${ALARM_COLUMNS} from alarm where cleared_at is null order by id limit ${MOST_OPEN}`
      return toAlarms(await database.query(sql, []))
    },
    raiseAlarms: (findings, at) =>
      database.write(
        findings.map(({ kind, accountId, object, severity, since, facts }) => ({
          sql: `insert into alarm (account_id, kind, object, severity, facts, since, raised_at, changed_at, is_announced)
            values (?, ?, ?, ?, ?, ?, ?, ?, 0) on conflict (kind, object) where cleared_at is null do nothing`,
          values: [accountId, kind, object, severity, JSON.stringify(facts), since, at, at],
        })),
      ),
    changeAlarms: (changes, at) =>
      database.write(
        changes.map(({ alarm, finding, isWorse }) => ({
          sql: `update alarm set severity = ?, facts = ?, changed_at = ?${isWorse ? ', is_announced = 0' : ''}
            where id = ? and cleared_at is null`,
          values: [finding.severity, JSON.stringify(finding.facts), at, alarm.id],
        })),
      ),
    clearAlarms: (alarms, at) =>
      database.write(
        alarms.map(({ id }) => ({
          sql: 'update alarm set cleared_at = ?, is_announced = 0 where id = ? and cleared_at is null',
          values: [at, id],
        })),
      ),
    async readUnannouncedAlarms() {
      const sql = `select ${ALARM_COLUMNS} from alarm where is_announced = 0 order by id limit ${UNANNOUNCED_AT_ONCE}`
      return toAlarms(await database.query(sql, []))
    },
    markAnnounced: (alarms) =>
      database.write(
        // An alarm that changed in the meantime is reported again.
        alarms.map(({ id, severity, clearedAt }) => ({
          sql: `update alarm set is_announced = 1 where id = ? and severity = ? and coalesce(cleared_at, 0) = ?`,
          values: [id, severity, clearedAt ?? 0],
        })),
      ),
    forgetAlarms: (before) => database.write([{ sql: 'delete from alarm where cleared_at < ?', values: [before] }]),
  }
}

async function readInstallation(database: WatchDatabase, now: Instant): ReturnType<Watch['readInstallation']> {
  const [row] = await database.query(
    `select (select since from hold) as held_since, (select reason from hold) as held_reason,
        (select max(heartbeat_until) from worker
          where (roles is null or ',' || roles || ',' like '%,dispatch,%') and heartbeat_until - ${LONGEST_LEASE_MS} <= ?) as dispatches_until,
        (select count(*) from (select 1 as one from connection where state <> 'removed' limit 1) found) as connections`,
    [now],
  )
  const since = row?.['held_since'] as Instant | null | undefined
  return {
    hold: since == null ? null : { since, reason: String(row?.['held_reason']) },
    dispatchesUntil: (row?.['dispatches_until'] as Instant | null | undefined) ?? null,
    hasConnections: Number(row?.['connections']) > 0,
  }
}

async function readOnlyAccount(database: WatchDatabase): Promise<AccountId | null> {
  const [first, second] = await database.query('select id from account limit 2', [])
  return first && !second ? (first['id'] as AccountId) : null
}

async function readTokens(
  database: WatchDatabase,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<readonly WatchedToken[]> {
  const rows = await database.query(
    `select id, account_id as "accountId", name, prefix, created_at as "createdAt", expires_at as "expiresAt",
        last_used_at as "lastUsedAt", successor_id as successor from
        (select *, row_number() over (partition by account_id order by expires_at) as place from token
          where deleted_at is null and expires_at >= ? and expires_at <= ?) ending
      where place <= ${MOST_TOKENS_OF_ACCOUNT} order by expires_at limit ${MOST_TOKENS}`,
    [from, to],
  )
  const tokens = rows as unknown as readonly (Omit<WatchedToken, 'hasSuccessor'> & { readonly successor: unknown })[]
  return tokens.map(({ successor, ...token }) => ({ ...token, hasSuccessor: successor !== null }))
}

async function readExpiredUse(
  database: WatchDatabase,
  tokens: readonly WatchedToken[],
): Promise<readonly ExpiredUse[]> {
  const endOf = new Map(tokens.map(({ id, expiresAt }) => [id, expiresAt]))
  const found: ExpiredUse[] = []
  for (const accountId of new Set(tokens.map((token) => token.accountId))) {
    // Only the first time of a sum certainly belongs to one of its requests.
    const rows = await database.query(
      `select token_id, max(coalesce(summed_since, received_at)) as last_at
        from (select token_id, summed_since, received_at from request
          where account_id >= ? and account_id <= ? order by account_id desc, sequence desc limit ${REQUESTS_BACK}) newest
        group by token_id`,
      [accountId, accountId],
    )
    for (const row of rows) {
      const tokenId = row['token_id'] as TokenId
      const lastAt = Number(row['last_at'])
      if (lastAt >= (endOf.get(tokenId) ?? Number.POSITIVE_INFINITY)) found.push({ tokenId, lastAt })
    }
  }
  return found
}

async function readFullLanes(
  { database, limits }: Pick<WatchParts, 'database' | 'limits'>,
  share: number,
  throttle: Throttle,
): Promise<readonly FullLane[] | null> {
  const { maxWaitingPerConnection, maxWaitingPerAccount } = limits
  const leastOf = (limit: number) => (limit === 0 ? Number.POSITIVE_INFINITY : Math.ceil(limit * share))
  const least = { perConnection: leastOf(maxWaitingPerConnection), perAccount: leastOf(maxWaitingPerAccount) }
  const counts = await database.countFull(least, throttle)
  if (counts === null) return null
  const { connections, accounts } = counts
  const full: FullLane[] = []
  for (const [id, waiting] of connections) {
    const [row] = await database.query('select account_id, number from connection where id = ?', [id])
    if (!row) continue
    const accountId = row['account_id'] as AccountId
    full.push({ accountId, connectionId: id, number: String(row['number']), waiting, limit: maxWaitingPerConnection })
  }
  for (const [accountId, waiting] of accounts)
    full.push({ accountId, connectionId: null, number: null, waiting, limit: maxWaitingPerAccount })
  return full
}

type AlarmRow = Omit<UnannouncedAlarm, 'kind' | 'facts'> & { readonly kind: string; readonly facts: string }

const ALARM_COLUMNS = `id, account_id as "accountId", kind, object, severity, facts, since, raised_at as "raisedAt",
  changed_at as "changedAt", cleared_at as "clearedAt"`

/** Without kinds of a newer version: this one has no words for them, and must not clear them. */
function toAlarms(rows: readonly unknown[]): readonly UnannouncedAlarm[] {
  return (rows as readonly AlarmRow[]).flatMap(({ kind, facts, ...row }) =>
    isAlarmKind(kind) ? [{ ...row, kind, facts: JSON.parse(facts) as AlarmFacts }] : [],
  )
}

interface MemoryRow {
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
  readonly number: string
  readonly channel: string
  readonly settings: string
  readonly key: string
  readonly value: string
  readonly at: Instant
}

/** What a channel remembers under a kind, of all connections that are not removed. */
async function readMemory(database: WatchDatabase, kind: string): Promise<readonly MemoryRow[]> {
  const rows = await database.query(
    `select c.id as "connectionId", c.account_id as "accountId", c.number, c.channel, c.channel_settings as settings, m.key, m.value, m.at
      from channel_memory m join connection c on c.id = m.connection_id
      where m.kind = ? and c.state <> 'removed' order by m.connection_id, m.at limit ${MOST_OPEN}`,
    [kind],
  )
  return rows as unknown as readonly MemoryRow[]
}

/** A connection has as many rows as there are promises at most. */
async function readBrokenPromises(database: WatchDatabase): Promise<readonly BrokenPromises[]> {
  const rows = await readMemory(database, BROKEN_PROMISE_KIND)
  return [...Map.groupBy(rows, ({ connectionId }) => connectionId).values()].flatMap(([first, ...more]) => {
    if (!first) return []
    const { connectionId, accountId, number } = first
    const broken = [first, ...more].map(({ key: promise, value: messageId, at }) => ({ promise, messageId, at }))
    return [{ connectionId, accountId, number, broken }]
  })
}

/** A connection has one row at most. It is left out once a check has stored what it holds. */
async function readChangedCapabilities(database: WatchDatabase): Promise<readonly ChangedCapabilities[]> {
  const rows = await readMemory(database, CHANGED_CAPABILITIES_KIND)
  return rows.flatMap(({ connectionId, accountId, number, settings, value, at: since }) => {
    const stored = storedCapabilities(readObject(settings))
    if (stored === null) return []
    return [{ connectionId, accountId, number, stored, said: JSON.parse(value) as AdapterCapabilities, since }]
  })
}

function readObject(stored: string): Readonly<Record<string, unknown>> {
  return JSON.parse(stored) as Readonly<Record<string, unknown>>
}

/** The key of an entry is the end of a lock; its value says whether the network named that end. The last of several holds. */
async function readContactLocks(database: WatchDatabase, now: Instant): Promise<readonly ContactLock[]> {
  const rows = await readMemory(database, CONTACT_LOCK_KIND)
  const open = rows.filter(({ key }) => Number(key) > now)
  const locks = open.map(({ connectionId, accountId, number, channel, key, value, at: since }) => {
    const until = readObject(value)['isEndSaid'] === true ? Number(key) : null
    return { connectionId, accountId, number, channel, since, until }
  })
  return [...new Map(locks.map((lock) => [lock.connectionId, lock])).values()]
}

type Candidate = Omit<Unreported, 'count' | 'isMore' | 'oldestAt'> & {
  readonly settings: string
  readonly countedFrom: Instant
  readonly oldestAt: Instant | null
}

/**
 * Connections whose network calls back (they have a callback address) and has reported nothing since it accepted a message
 * that long ago. A connection with a later report costs nothing; every other costs one index lookup, and a count where that
 * finds something.
 *
 * - Messages within a minute of the last stored report are left out: a report on them may not have been stored again.
 * - Messages from before the start of the oldest process that takes callbacks are left out, too: Nuncio was stopped, and the
 *   callbacks of that time come late. An alarm that was raised stays until a report comes.
 */
async function readUnreported(
  database: WatchDatabase,
  { silentForMs, now }: { readonly silentForMs: number; readonly now: Instant },
): Promise<readonly Unreported[]> {
  const found: Unreported[] = []
  const takenSince = await readTakenSince(database, now)
  const read = async (last: Candidate | null) => {
    const values = [takenSince, last?.connectionId ?? '', now - silentForMs]
    return (await database.query(selectCandidates(database), values)) as unknown as readonly Candidate[]
  }
  for await (const candidates of pages(CONNECTIONS_AT_ONCE, read, setImmediate))
    for (const candidate of candidates) {
      const { oldestAt, settings, countedFrom: _, ...row } = candidate
      if (oldestAt !== null && oldestAt <= now - silentForMs && reportsArrival(readObject(settings)))
        found.push({ ...row, oldestAt, ...(await countUnreported(database, candidate)) })
    }
  return found
}

/** Since when callbacks are taken without a break; infinity while no process takes any. */
async function readTakenSince(database: WatchDatabase, now: Instant): Promise<Instant> {
  const [row] = await database.query(
    `select min(coalesce(started_at, 0)) as since from worker
      where ${validLeaseSql('?')} and (roles is null or ',' || roles || ',' like '%,api,%')`,
    [now, now],
  )
  return (row?.['since'] as Instant | null | undefined) ?? Number.MAX_SAFE_INTEGER
}

function selectCandidates({ undelivered }: WatchDatabase): string {
  return `select y.id as "connectionId", y.account_id as "accountId", y.number, y.channel, y.channel_settings as settings,
      y.last_report_at as "lastReportAt", y.counted_from as "countedFrom", (select m.published_at ${undelivered}
        and m.connection_id = y.id and m.published_at > y.counted_from order by m.published_at limit 1) as "oldestAt"
    from (select x.*, case when x.reported_from > x.started_from then x.reported_from else x.started_from end as counted_from
      from (select c.id, c.account_id, c.number, c.channel, c.channel_settings, l.last_report_at,
          coalesce(l.last_report_at + ${REPORTS_NOTED_EVERY_MS}, 0) as reported_from,
          case when exists (select 1 from alarm a where a.kind = 'reports_missing' and a.object = c.id and a.cleared_at is null)
            then 0 else cast(? as bigint) end as started_from
        from connection c left join lane l on l.connection_id = c.id
        where c.callback_app is not null and c.state <> 'removed' and c.id > ? and coalesce(l.last_report_at, 0) <= ?
        order by c.id limit ${CONNECTIONS_AT_ONCE}) x) y
    order by y.id`
}

async function countUnreported(
  database: WatchDatabase,
  { connectionId, countedFrom }: Candidate,
): Promise<Pick<Unreported, 'count' | 'isMore'>> {
  const [counted] = await database.query(
    `select count(*) as count from (select 1 ${database.undelivered}
      and m.connection_id = ? and m.published_at > ? limit ${MOST_COUNTED + 1}) few`,
    [connectionId, countedFrom],
  )
  const count = Number(counted?.['count'])
  return { count: Math.min(count, MOST_COUNTED), isMore: count > MOST_COUNTED }
}
