import { crc32 } from 'node:zlib'
import type { EngineName } from '../../support/administration-world/world-database.ts'

const DAY_MS = 86_400_000
/** With the default settings, messages of this age are deleted as a whole. */
const GONE_MS = 100 * DAY_MS
/** With the default settings, only the content of messages of this age is deleted. */
const EMPTIED_MS = 40 * DAY_MS
const LIVES_MS = 300 * DAY_MS
const UNRESOLVED_EVERY = 500
const BODY = '{"message":{"type":"message","message":"Hello of old"}}'

export interface AskedDatabase {
  readonly engine: EngineName
  readonly ask: (sql: string) => Promise<readonly Record<string, unknown>[]>
}

export interface OldRows {
  /** How many messages of each kind: deleted as a whole, and with only the content deleted. */
  readonly rows: number
  /** The messages that wait in a paused lane. */
  readonly waiting: readonly string[]
}

/** How many of them are not resolved. */
export function unresolvedOf({ rows }: Pick<OldRows, 'rows'>): number {
  return Math.floor(rows / UNRESOLVED_EVERY)
}

/** Call it while no service uses the database. Adds rows that are too old, and gives the waiting messages the same age. */
export async function makeOldRows(database: AskedDatabase, { rows, waiting }: OldRows): Promise<void> {
  const { ask, engine } = database
  const isSqlite = engine === 'SQLite'
  const now = Date.now()
  await ask(`update connection set policy = '{"timeToLiveMs": ${LIVES_MS}}' where state = 'paused'`)
  const those = waiting.map((id) => `'${id}'`).join()
  await ask(`update ${isSqlite ? 'message' : 'queued'} set accepted_at = ${now - GONE_MS} where id in (${those})`)
  if (!isSqlite) await openOldDays(database, now)
  const last = isSqlite ? Number((await ask('select max(sequence) as last from message'))[0]?.['last']) : 0
  // Far above all numbers assigned so far.
  const firstOf = (day: number, before: number) => (isSqlite ? last + 1 + before : day * 2 ** 40 + 10_000_000)
  const half = rows / 2
  await addOld(database, { kind: 'gone', first: firstOf(1, 0), rows: half, at: now - GONE_MS, unresolved: rows })
  await addOld(database, { kind: 'whole', first: firstOf(2, half), rows: half, at: now - GONE_MS, unresolved: 0 })
  await addOld(database, { kind: 'emptied', first: firstOf(3, rows), rows, at: now - EMPTIED_MS, unresolved: 0 })
  const request = (sequence: number, id: string, at: number) =>
    ask(`insert into request (sequence, account_id, token_id, request_id, received_at, took_us, status, code, body)
      ${numbers(id === 'young' ? 1 : half)} select ${sequence} + n.i, c.account_id, 'token', '${id}-' || n.i, ${at}, 1, 400, 'HC-2', '{}'
        from n, (select account_id from connection limit 1) c`)
  await request(isSqlite ? 0 : 2 ** 40 + 10_000_000, 'old', now - GONE_MS)
  // The newest request is never deleted.
  await request(isSqlite ? rows : 2 ** 40 + 20_000_000, 'young', now)
}

/** Four periods: one with an unfinished message, one that can be deleted as a whole, one that is not old enough, and today's. */
async function openOldDays({ ask }: AskedDatabase, now: number): Promise<void> {
  const beginsAt = (day: number, at: number) => ask(`update period set starts_at = ${at} where number = ${day}`)
  await beginsAt(0, now - GONE_MS - 2 * DAY_MS)
  await beginsAt(1, now - GONE_MS - DAY_MS)
  for (const day of [2, 3, 4]) {
    await ask('select open_period()')
    if (day < 4) await beginsAt(day, now - GONE_MS + (day - 2) * DAY_MS)
  }
}

interface Added {
  readonly kind: 'gone' | 'whole' | 'emptied'
  readonly first: number
  readonly rows: number
  readonly at: number
  /** As many rows stay unresolved as `unresolvedOf` returns for this number. */
  readonly unresolved: number
}

async function addOld({ engine, ask }: AskedDatabase, { kind, first, rows, at, unresolved }: Added): Promise<void> {
  const [message, attempt] = engine === 'SQLite' ? ['message', 'attempt'] : ['settled', 'ended_attempt']
  const every = unresolved > 0 ? Math.floor(rows / unresolvedOf({ rows: unresolved })) : rows + 1
  const counted = `${numbers(rows)} select ${first} + i as sequence, i, ${at} as at from n`
  await ask(`insert into ${message} (sequence, id, account_id, connection_id, body, body_crc, recipient, type, state, reason, attempts,
      accepted_at, settled_at)
    select sequence, 'old-${kind}-' || i, c.account_id, c.id, '${BODY}', ${crc32(BODY)}, '15550100000',
        case when i % 5 = 0 then 'image' else 'message' end,
        case when i % ${every} = 0 then 'UNCONFIRMED' else 'FAILED' end, case when i % ${every} = 0 then 'result_unknown' else 'busy' end,
        2, at, at
      from (${counted}) s, (select id, account_id from connection where state = 'active' order by id limit 1) c`)
  await ask(`insert into ${attempt} (message_sequence, number, started_at, ended_at, outcome)
    select sequence, number, 1, 2, 'rejected' from (${counted}) s, (select 1 as number union all select 2) t`)
  await ask(`insert into timeline (message_sequence, position, at, kind)
    select sequence, 1, at, 'receipt-delivered' from (${counted}) s where i % 3 = 0`)
  await ask(`insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
    select sequence, account_id, connection_id, 'https://files.example/a.png', 'image', 'forgotten', 1
      from ${message} where id like 'old-${kind}-%' and type = 'image'`)
}

function numbers(rows: number): string {
  return `with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})`
}

/** How many rows are too old and not deleted yet. */
export async function countOld({ ask }: AskedDatabase): Promise<number> {
  const [row] = await ask(`select
    (select count(*) from message where id like 'old-%' and id not like 'old-emptied-%' and state <> 'UNCONFIRMED')
    + (select count(*) from message where id like 'old-%' and body_deleted_at is null and state <> 'UNCONFIRMED')
    + (select count(*) from request where request_id like 'old-%') as old`)
  return Number(row?.['old'])
}

/** Counts parts that a deletion has left, and missing parts of rows that remain, by kind. All counts must be 0. */
export async function countHalves({ engine, ask }: AskedDatabase): Promise<Record<string, number>> {
  const attempt = engine === 'SQLite' ? 'attempt' : 'ended_attempt'
  const orphans = (table: string) =>
    `(select count(*) from ${table} t where not exists (select 1 from message m where m.sequence = t.message_sequence))`
  const [row] =
    await ask(`select ${orphans(attempt)} as attempts, ${orphans('timeline')} as entries, ${orphans('media')} as media,
    (select count(*) from message where (body = '') <> (body_deleted_at is not null)) as bodies,
    (select count(*) from media x join message m on m.sequence = x.message_sequence
      where (x.url = '') <> (m.body_deleted_at is not null)) as addresses`)
  return Object.fromEntries(Object.entries(row ?? {}).map(([kind, count]) => [kind, Number(count)]))
}
