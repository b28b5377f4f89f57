import { LONGEST_LEASE_MS } from '../../../core/dispatch/workers/lease.ts'
import type { AccountId, ConnectionId, Instant, TokenId } from '../../../core/ids.ts'
import type { ExpiredUse, FullLane, Throttle, Watch, WatchedToken } from '../../../core/ports/watch.ts'
import { ALARM_COLUMNS, toAlarms } from './alarm-rows.ts'
import { readUnreported } from './unreported.ts'
import type { WatchDatabase } from './watch-database.ts'
import { readLanes, readLanesOf } from './watched-lanes.ts'

// More tokens than end at about the same time anywhere.
const MOST_TOKENS = 5_000
// The share of one account, so that an account with many tokens does not keep the tokens of others from being watched (G8).
const MOST_TOKENS_OF_ACCOUNT = 250
const MOST_OPEN = 10_000
// A caller with an expired token keeps trying, so it is among the newest refusals of its account.
const REQUESTS_BACK = 500
const UNTOLD_AT_ONCE = 200

interface WatchParts {
  readonly database: WatchDatabase
  readonly now: () => Instant
  readonly limits: { readonly maxWaitingPerConnection: number; readonly maxWaitingPerAccount: number }
}

/** What the watchdog reads and writes, over either engine. */
export function createWatch({ database, now, limits }: WatchParts): Watch {
  return {
    acquireLease: (watcher, lastsMs) => database.takeTurn(watcher, lastsMs),
    releaseLease: (watcher) => database.endTurn(watcher),
    readLanes: (after, limit) => readLanes(database, { after, limit, now: now() }),
    readLanesOf: (ids) => readLanesOf(database, ids, now()),
    measureLanes: (lanes) => database.measureLanes(lanes),
    readInstallation: () => readInstallation(database, now()),
    readUnconfirmed: () => database.readUnconfirmed(),
    readUnreported: (silentForMs) => readUnreported(database, { silentForMs, now: now() }),
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
      return toAlarms(await database.ask(sql, []))
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
      const sql = `select ${ALARM_COLUMNS} from alarm where is_announced = 0 order by id limit ${UNTOLD_AT_ONCE}`
      return toAlarms(await database.ask(sql, []))
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
  const [row] = await database.ask(
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
  const [first, second] = await database.ask('select id from account limit 2', [])
  return first && !second ? (first['id'] as AccountId) : null
}

async function readTokens(
  database: WatchDatabase,
  { from, to }: { readonly from: Instant; readonly to: Instant },
): Promise<readonly WatchedToken[]> {
  const rows = await database.ask(
    `select id, account_id, name, prefix, expires_at, last_used_at, successor_id from
        (select *, row_number() over (partition by account_id order by expires_at) as place from token
          where deleted_at is null and expires_at >= ? and expires_at <= ?) ending
      where place <= ${MOST_TOKENS_OF_ACCOUNT} order by expires_at limit ${MOST_TOKENS}`,
    [from, to],
  )
  return rows.map((row) => ({
    id: row['id'] as TokenId,
    accountId: row['account_id'] as AccountId,
    name: String(row['name']),
    prefix: String(row['prefix']),
    expiresAt: Number(row['expires_at']),
    lastUsedAt: (row['last_used_at'] as Instant | null) ?? null,
    hasSuccessor: row['successor_id'] !== null,
  }))
}

async function readExpiredUse(
  database: WatchDatabase,
  tokens: readonly WatchedToken[],
): Promise<readonly ExpiredUse[]> {
  const endOf = new Map(tokens.map(({ id, expiresAt }) => [id, expiresAt]))
  const found: ExpiredUse[] = []
  for (const accountId of new Set(tokens.map((token) => token.accountId))) {
    // Only the first time of a sum certainly belongs to one of its requests.
    const rows = await database.ask(
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
    const [row] = await database.ask('select account_id, number from connection where id = ?', [id])
    if (!row) continue
    const accountId = row['account_id'] as AccountId
    full.push({ accountId, connectionId: id, number: String(row['number']), waiting, limit: maxWaitingPerConnection })
  }
  for (const [accountId, waiting] of accounts)
    full.push({
      accountId,
      connectionId: null as ConnectionId | null,
      number: null,
      waiting,
      limit: maxWaitingPerAccount,
    })
  return full
}
