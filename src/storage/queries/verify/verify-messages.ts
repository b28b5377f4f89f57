import { crc32 } from 'node:zlib'
import { type RawBuilder, sql } from 'kysely'
import { MESSAGE_STATES } from '../../../core/message/message.ts'
import type { Reader, Span } from '../engine.ts'
import { snapshot } from '../store.ts'
import { inPages, ROWS_AT_ONCE, type Verification } from './verification.ts'

interface MessageRow {
  readonly sequence: number
  readonly id: string
  readonly account_id: string
  readonly connection_id: string
  readonly token_id: string | null
  readonly body: string
  readonly body_crc: number
  readonly state: string
  readonly settled_at: number | null
  readonly in_lane: number
}

const STATES = new Set<string>(MESSAGE_STATES)
// Rows that belong to a message by its sequence.
const BELONGING = ['attempt', 'timeline', 'media'] as const

/** All messages with their dependent rows, newest first, in batches. Each batch is a snapshot. */
export async function verifyMessages(verification: Verification): Promise<number> {
  const { store, onProgress } = verification
  const known = new KnownRows()
  let rows = 0
  for (const span of await store.engine.spans(store.database)) {
    const read = (last: MessageRow | null) => {
      const before = last?.sequence ?? span.before
      return snapshot(store, (tables) => verifyPage(verification, tables, { known, span: { ...span, before } }))
    }
    for await (const page of inPages(verification, read)) {
      rows += page.length
      onProgress({ doing: 'messages', rows })
    }
  }
  return rows
}

async function verifyPage(
  { findings }: Verification,
  tables: Reader,
  { known, span }: { readonly known: KnownRows; readonly span: Span },
): Promise<readonly MessageRow[]> {
  const page = await readPage(tables, span)
  await known.learn(tables, page)
  for (const row of page) {
    const where = `message ${row.id}`
    if (crc32(row.body) !== row.body_crc) findings.add('body_damaged', where)
    if (!STATES.has(row.state) || row.state === 'SENDING' || (row.state === 'QUEUED') !== (row.settled_at === null))
      findings.add('state_unclear', `${where}: ${row.state}`)
    if (row.state === 'QUEUED' && row.in_lane === 0) findings.add('not_in_lane', where)
    for (const broken of known.missingOf(row)) findings.add('reference_broken', `${where}: ${broken}`)
  }
  const from = page.length === ROWS_AT_ONCE ? (page.at(-1)?.sequence ?? span.from) : span.from
  const there = new Set(page.map(({ sequence }) => sequence))
  for (const table of BELONGING)
    for (const sequence of await sequencesIn(tables, table, { from, before: span.before }))
      if (!there.has(sequence)) findings.add('left_behind', `${table} of the message with the number ${sequence}`)
  return page
}

async function readPage(tables: Reader, { from, before }: Span): Promise<readonly MessageRow[]> {
  const inLane = sql`case when m.state <> 'QUEUED' or m.sequence > (select sequence from indexed_through)
    or exists (select 1 from lane_entry e where e.connection_id = m.connection_id and e.sequence = m.sequence) then 1 else 0 end`
  return ask<MessageRow>(
    tables,
    sql`select sequence, id, account_id, connection_id, token_id, body, body_crc, state, settled_at, ${inLane} as in_lane
      from (select * from message where sequence >= ${from} and sequence < ${before} order by sequence desc limit ${ROWS_AT_ONCE}) m
      order by sequence desc`,
  )
}

async function sequencesIn(tables: Reader, table: string, { from, before }: Span): Promise<readonly number[]> {
  const rows = await ask<{ message_sequence: number }>(
    tables,
    sql`select distinct message_sequence from ${sql.table(table)} where message_sequence >= ${from} and message_sequence < ${before}`,
  )
  return rows.map((row) => row.message_sequence)
}

/** Connections and tokens are few, and most messages share them: each is looked up once. */
class KnownRows {
  /** The account of each; null when there is no such row. */
  readonly #connections = new Map<string, string | null>()
  readonly #tokens = new Map<string, string | null>()

  async learn(tables: Reader, page: readonly MessageRow[]): Promise<void> {
    const connections = page.map((row) => row.connection_id)
    const tokens = page.flatMap((row) => row.token_id ?? [])
    await learn(tables, { table: 'connection', known: this.#connections, ids: connections })
    await learn(tables, { table: 'token', known: this.#tokens, ids: tokens })
  }

  missingOf({ account_id, connection_id, token_id }: MessageRow): readonly string[] {
    const missing: string[] = []
    if (this.#connections.get(connection_id) !== account_id) missing.push(`connection ${connection_id}`)
    if (token_id !== null && this.#tokens.get(token_id) !== account_id) missing.push(`token ${token_id}`)
    return missing
  }
}

interface ToLearn {
  readonly table: 'connection' | 'token'
  readonly known: Map<string, string | null>
  readonly ids: readonly string[]
}

async function learn(tables: Reader, { table, known, ids }: ToLearn): Promise<void> {
  const unknown = [...new Set(ids)].filter((id) => !known.has(id))
  if (unknown.length === 0) return
  for (const id of unknown) known.set(id, null)
  const rows = await ask<{ id: string; account_id: string }>(
    tables,
    sql`select id, account_id from ${sql.table(table)} where id in (${sql.join(unknown)})`,
  )
  for (const row of rows) known.set(row.id, row.account_id)
}

export async function ask<Row>(tables: Reader, question: RawBuilder<unknown>): Promise<readonly Row[]> {
  return (await question.execute(tables)).rows as Row[]
}
