import { sql } from 'kysely'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { snapshot } from '../store.ts'
import { inBatch, inPages, ROWS_AT_ONCE, type Verification } from './verification.ts'
import { ask } from './verify-messages.ts'

interface OpenAttempt {
  readonly connection_id: string
  readonly sequence: number
  readonly found: string | null
  readonly state: string | null
}

/** Open attempts: few rows, each of which blocks a lane if it is wrong. */
export async function verifyOpenAttempts(verification: Verification): Promise<void> {
  const { store, findings } = verification
  const read = (last: OpenAttempt | null) =>
    snapshot(store, (tables) =>
      ask<OpenAttempt>(
        tables,
        sql`select o.connection_id, o.message_sequence as sequence, m.connection_id as found, m.state
          from (select * from open_attempt where connection_id > ${last?.connection_id ?? ''} order by connection_id limit ${ROWS_AT_ONCE}) o
          left join message m on m.sequence = o.message_sequence order by o.connection_id`,
      ),
    )
  for await (const rows of inPages(verification, read)) {
    for (const { connection_id, sequence, found, state } of rows) {
      if (found === connection_id && state === 'QUEUED') continue
      const what =
        found === null ? 'is not there' : found === connection_id ? `is ${String(state)}` : 'is of another lane'
      findings.add('attempt_astray', `connection ${connection_id}: the message with the number ${sequence} ${what}`)
    }
  }
}

export async function verifyIdempotency(verification: Verification): Promise<void> {
  const { store, findings, onProgress } = verification
  const read = (last: { account_id: string; key: string; is_there: number } | null) =>
    snapshot(store, (tables) =>
      ask<NonNullable<typeof last>>(
        tables,
        sql`select i.account_id, i.key, case when exists (select 1 from message m where m.sequence = i.message_sequence
              and m.account_id = i.account_id) then 1 else 0 end as is_there
          from (select * from idempotency where (account_id, key) > (${last?.account_id ?? ''}, ${last?.key ?? ''})
            order by account_id, key limit ${ROWS_AT_ONCE}) i order by i.account_id, i.key`,
      ),
    )
  let count = 0
  for await (const rows of inPages(verification, read)) {
    for (const row of rows)
      if (row.is_there === 0) findings.add('key_without_message', `a key of account ${row.account_id}`)
    count += rows.length
    onProgress({ doing: 'idempotency keys', rows: count })
  }
}

/** Compares the figures of an account with the sums of its connections. Refused requests belong to no connection. */
export async function verifyTallies(verification: Verification): Promise<void> {
  const { store, findings } = verification
  const hours = await ask<{ hour: number }>(store.database, sql`select hour from tally_hour order by hour desc`)
  for (const { hour } of hours) {
    const rows = await inBatch(verification, () =>
      ask<{ account_id: string; state: string }>(
        store.database,
        sql`select account_id, state from tally where hour = ${hour} and state <> 'refused' group by account_id, state
          having sum(case when connection_id = '' then count else -count end) <> 0 or min(count) < 0`,
      ),
    )
    const hourText = new Date(hour).toISOString().slice(0, 13)
    for (const row of rows) findings.add('tally_differs', `account ${row.account_id}, ${hourText} h: ${row.state}`)
  }
}

/** A hold is no damage, but a person who checks the database should know of it. */
export async function noteHold({ store, findings }: Verification): Promise<void> {
  for (const { reason } of await ask<{ reason: string }>(store.database, sql`select reason from hold`))
    findings.add('held', reason)
}

export interface SpooledFile {
  readonly path: string
  readonly sizeBytes: number | null
}

/** The fetched files that wait in this spool, some at a time. `spool` null: there is only one. */
export async function* spooledFiles(verification: Verification, spool: string | null): AsyncGenerator<SpooledFile> {
  const ours = spool === null ? sql`` : sql`and spool = ${spool}`
  const read = (last: { message_sequence: number; path: string | null; size_bytes: number | null } | null) =>
    ask<NonNullable<typeof last>>(
      verification.store.database,
      sql`select message_sequence, path, size_bytes from media where state = 'ready' and message_sequence > ${last?.message_sequence ?? -1} ${ours}
        order by message_sequence limit ${ROWS_AT_ONCE}`,
    )
  for await (const rows of inPages(verification, read))
    for (const { path, size_bytes } of rows) if (path !== null) yield { path, sizeBytes: size_bytes }
}

export interface StoredDeviceSession {
  readonly connection_id: ConnectionId
  readonly account_id: AccountId
  readonly number: string
  readonly data_key: string
  readonly credentials: Uint8Array
}

const SESSIONS = sql`select s.connection_id, c.account_id, c.number, s.data_key, s.credentials
  from channel_session s join connection c on c.id = s.connection_id`

/** What is stored of linked devices, without their keys. */
export async function* storedSessions(verification: Verification): AsyncGenerator<StoredDeviceSession> {
  const read = (last: StoredDeviceSession | null) =>
    ask<StoredDeviceSession>(
      verification.store.database,
      sql`${SESSIONS} where s.connection_id > ${last?.connection_id ?? ''} order by s.connection_id limit ${ROWS_AT_ONCE}`,
    )
  for await (const rows of inPages(verification, read)) yield* rows
}

/** As it is stored now; null: it was unlinked. */
export async function storedSession(
  verification: Verification,
  connectionId: ConnectionId,
): Promise<StoredDeviceSession | null> {
  const [row] = await inBatch(verification, () =>
    ask<StoredDeviceSession>(verification.store.database, sql`${SESSIONS} where s.connection_id = ${connectionId}`),
  )
  return row ?? null
}

interface StoredSessionKey {
  readonly kind: string
  readonly id: string
  readonly value: Uint8Array
}

export async function* sessionKeys(
  verification: Verification,
  connectionId: ConnectionId,
): AsyncGenerator<StoredSessionKey> {
  const read = (last: StoredSessionKey | null) =>
    ask<StoredSessionKey>(
      verification.store.database,
      sql`select kind, id, value from channel_session_key
        where connection_id = ${connectionId} and (kind, id) > (${last?.kind ?? ''}, ${last?.id ?? ''}) order by kind, id limit ${ROWS_AT_ONCE}`,
    )
  for await (const rows of inPages(verification, read)) yield* rows
}
