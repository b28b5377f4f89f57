import { crc32 } from 'node:zlib'
import type { Client } from 'pg'

const PERIODS = 8
export const SETTLED = 3_000_000
export const QUEUED = 2_000_000
export const ACCOUNTS = 20
export const LANES = 2_000

const OF_A_PERIOD = SETTLED / PERIODS
/** The current period. A few messages wait since the period before. */
const CURRENT = PERIODS
const WAIT_SINCE_YESTERDAY = LANES

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/**
 * Writes five million messages: the settled ones are in eight days, the waiting ones in two thousand lanes. The clock of the
 * database moves through those days. Tables are filled without a write-ahead log, and indexes are created at the end; otherwise
 * it takes minutes.
 */
export async function fillDatabase(sessions: readonly [Client, Client]): Promise<void> {
  const [session, other] = sessions
  // The migrations have opened the first period.
  for (let day = 2; day <= CURRENT; day++) {
    await session.query(timeAt(day))
    await session.query('select open_period()')
  }
  await session.query(timeAt(CURRENT, 12))
  await session.query(ACCOUNTS_AND_LANES)
  const indexes = await dropIndexes(session)
  await Promise.all([fillSettled(session), fillQueued(other)])
  // The indexes of `settled` are partitioned. Each takes about as long as all others together.
  const isOfSettled = (sql: string) => /\bsettled\b/.test(sql)
  await Promise.all([
    runAll(
      session,
      indexes.filter((sql) => isOfSettled(sql)),
    ),
    runAll(
      other,
      indexes.filter((sql) => !isOfSettled(sql)),
    ),
  ])
  // Moves the sequences as if all messages had been accepted.
  await session.query(
    `select setval('message_block', (select max(block_base) from period) + ${OF_A_PERIOD + QUEUED} / 1024 + 100)`,
  )
  await session.query(`select setval('request_number', (select max(request_base) from period) + 1000000)`)
}

/** The time of that hour of that day, where today is 0. From then on it passes at normal speed. */
function timeAt(day: number, hour = 6): string {
  const at = (Math.floor(Date.now() / DAY_MS) + day) * DAY_MS + hour * HOUR_MS
  return `create or replace function now_ms() returns bigint language sql volatile as $$
    select floor(extract(epoch from clock_timestamp()) * 1000)::bigint + ${at - Date.now()} $$`
}

async function runAll(session: Client, statements: readonly string[]): Promise<void> {
  for (const sql of statements) await session.query(sql)
}

const FILLED = ['settled', 'queued', 'ended_attempt', 'accept_commit', 'request', 'timeline', 'idempotency', 'media']

/** Returns the statements that create them again, as the migrations do. */
async function dropIndexes(session: Client): Promise<string[]> {
  const { rows } = await session.query<{ drop: string; make: string }>(
    `select case when k.oid is null then format('drop index %I', i.relname)
          else format('alter table %I drop constraint %I', t.relname, k.conname) end as drop,
        -- Where there are partitions it says ONLY, and that would leave them without.
        case when k.oid is null then replace(pg_get_indexdef(i.oid), ' ON ONLY ', ' ON ')
          else format('alter table %I add constraint %I %s', t.relname, k.conname, pg_get_constraintdef(k.oid)) end as make
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
      left join pg_constraint k on k.conindid = i.oid and k.contype = 'p'
      where t.relname = any ($1) and t.relnamespace = current_schema()::regnamespace`,
    [FILLED],
  )
  await runAll(
    session,
    rows.map(({ drop }) => drop),
  )
  return rows.map(({ make }) => make)
}

const ACCOUNTS_AND_LANES = `
  insert into account select 'acc' || i, 'account ' || i, 1 from generate_series(0, ${ACCOUNTS - 1}) i;
  insert into token (id, account_id, name, sha256, prefix, events, created_at, expires_at)
    select 'tok' || i, 'acc' || i, 'token', sha256(('token ' || i)::bytea), 'AbCdEfGh', '["messaging.send_message"]', 1, 9000000000000
      from generate_series(0, ${ACCOUNTS - 1}) i;
  -- Two days, so that what waits since yesterday does not expire yet.
  insert into connection select 'con' || i, 'acc' || i % ${ACCOUNTS}, (15550000000 + i)::text, 'sandbox', 'active', '{"timeToLiveMs": 172800000}', '{}', 1, null
    from generate_series(0, ${LANES - 1}) i;
  insert into lane (connection_id, account_id) select id, account_id from connection;`

const TEXT = '{"from":"15550001000","to":"15550100000","message":{"type":"message","message":"Hello"}}'
const BODY = `'${TEXT}'`
const CRC = crc32(TEXT)

/** An id that contains the time at which it was created. */
const idOf = (at: string, i: string) =>
  `left(lpad(to_hex(${at}), 12, '0'), 8) || '-' || right(lpad(to_hex(${at}), 12, '0'), 4) || '-7000-8000-' || lpad(to_hex(${i}), 12, '0')`

async function fillSettled(session: Client): Promise<void> {
  for (let period = 1; period <= PERIODS; period++) {
    const sequence = `(${period}::bigint << 40) + i`
    await session.query(
      `begin;
       ${['settled', 'ended_attempt', 'accept_commit', 'request', 'timeline'].map((table) => `truncate ${table}_p${period};`).join('')}
       insert into settled_p${period} (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type,
           state, attempts, accepted_at, published_at, settled_at, network_id, remote_address, took_us, attempt_started_at, resolved_at)
         select ${sequence}, ${idOf('at', 'i')}, 'acc' || i % ${ACCOUNTS}, 'con' || i % ${LANES}, 'tok' || i % ${ACCOUNTS}, 'req-${period}-' || i,
             ${BODY}, ${CRC}, '15550100000', 'message',
             case when i % 1000 = 0 then 'UNCONFIRMED' when i % 500 = 0 then 'FAILED' when i % 3 = 0 then 'READ' else 'DELIVERED' end,
             case when i % 10 = 0 then 2 else 1 end, at, at + 500, at + 500, 'net' || i, '192.0.2.1', 900, case when i % 10 > 0 then at + 100 end,
             case when i % 20000 > 0 then at + 600 end
           from (select i, p.starts_at + i * 40::bigint as at from generate_series(1, ${OF_A_PERIOD}) i, period p where p.number = ${period}) s;
       insert into ended_attempt_p${period} select ${sequence}, n, 1, 2, case when n = 1 then 'rejected' else 'accepted' end, null, null
         from generate_series(10, ${OF_A_PERIOD}, 10) i, generate_series(1, 2) n;
       insert into timeline_p${period} (message_sequence, position, at, kind) select ${sequence}, 1, 1, 'receipt-delivered'
         from generate_series(1, ${OF_A_PERIOD}, 2) i;
       insert into accept_commit_p${period} select (${period}::bigint << 40) + i + 99, ${sequence}, 900 from generate_series(1, ${OF_A_PERIOD}, 100) i;
       insert into request_p${period} (sequence, account_id, token_id, request_id, received_at, took_us, status, code, body)
         select ${sequence}, 'acc' || i % ${ACCOUNTS}, 'tok' || i % ${ACCOUNTS}, 'bad-${period}-' || i, 1, 800, 400, 'HC-2', '{"from":"' || 15550000000 + i % ${LANES} || '"}'
           from generate_series(1, ${OF_A_PERIOD / 10}) i;
       commit`,
    )
  }
}

async function fillQueued(session: Client): Promise<void> {
  const columns = `sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, accepted_at, remote_address, took_us`
  const ofPeriod = (period: number, count: number) =>
    `insert into queued (${columns})
       select (${period}::bigint << 40) + i, ${idOf('at', 'i')}, 'acc' || i % ${ACCOUNTS}, 'con' || i % ${LANES}, 'tok' || i % ${ACCOUNTS}, 'req-${period}-' || i,
           ${BODY}, ${CRC}, '15550100000', case when i % 37 = 0 then 'image' else 'message' end, at, '192.0.2.1', 900
         from (select i, p.starts_at + 18000000 + i / 100 as at
           from generate_series(${OF_A_PERIOD + 1}, ${OF_A_PERIOD + count}) i, period p where p.number = ${period}) s;`
  await session.query(
    `begin;
     truncate queued, media, idempotency;
     ${ofPeriod(CURRENT - 1, WAIT_SINCE_YESTERDAY)}
     ${ofPeriod(CURRENT, QUEUED - WAIT_SINCE_YESTERDAY)}
     insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at, path, spool, size_bytes, sha256, mime)
       select sequence, account_id, connection_id, 'https://files.example/a.png', 'image', x.state, 1,
           case when x.state = 'ready' then 'a/' || sequence end, case when x.state = 'ready' then 'spool' end, 1000, 'sha', 'image/png'
         from queued, lateral (select case when sequence % 2 = 0 then 'pending' else 'ready' end as state) x where type = 'image';
     insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
       select (1::bigint << 40) + i, 'acc' || i % ${ACCOUNTS}, 'con' || i % ${LANES}, 'https://files.example/a.png', 'image', 'forgotten', 1
         from generate_series(1, 20000) i;
     insert into idempotency select account_id, 'key-' || sequence, 'fingerprint', sequence, accepted_at from queued
       where sequence % 4 = 0;
     commit`,
  )
}
