import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { MadeData } from './made-data.ts'
import { sendBody } from './send-request.ts'

/** Fills the database of a service that is not running, as if it had accepted and settled all this before. */
export function preload(data: MadeData, { waiting, settled }: { waiting: number; settled: number }): void {
  const database = new DatabaseSync(data.databasePath)
  try {
    // Without a journal: whoever breaks this off throws the folder away. The service sets its own before it starts.
    database.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -262144')
    listLanes(database, data)
    const { sql } = database.prepare(`select sql from sqlite_schema where name = 'message_enters_lane'`).get() as {
      sql: string
    }
    database.exec('begin; drop trigger message_enters_lane')
    insertMessages(database, { first: 1, count: settled, state: 'PUBLISHED' })
    insertMessages(database, { first: settled + 1, count: waiting, state: 'QUEUED' })
    insertAttempts(database, settled)
    insertEntries(database, { first: settled + 1, count: waiting, lanes: data.connections.length })
    database.exec(`${sql}; commit; drop table preload_lane; pragma journal_mode = wal; pragma optimize`)
  } finally {
    database.close()
  }
  flushToDisk(data.databasePath)
}

function listLanes(database: DatabaseSync, { connections, accountId }: MadeData): void {
  database.exec(
    'create temp table preload_lane (place integer primary key, connection_id text, account_id text, body text, crc integer)',
  )
  const insert = database.prepare('insert into preload_lane values (?, ?, ?, ?, ?)')
  for (const [place, { id, number }] of connections.entries()) {
    const body = sendBody({ from: number })
    insert.run(place, id, accountId, body, crc32(body))
  }
}

interface Range {
  readonly first: number
  readonly count: number
}

const NUMBERS = 'with recursive n (i) as (select ? where ? > 0 union all select i + 1 from n where i < ?)'

/** The lanes take turns, as they do in a busy service: neighbours in one lane lie far apart. */
function insertMessages(database: DatabaseSync, { first, count, state }: Range & { readonly state: string }): void {
  const settledAt = state === 'QUEUED' ? null : Date.now()
  database
    .prepare(
      `${NUMBERS} insert into message (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient,
         type, state, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us)
       select i, printf('01980000-0000-7000-8000-%012x', i), account_id, connection_id, 'tok_benchbenchbe', printf('bench-%x', i),
         body, crc, '15551234567', 'message', ?, ?, ?, ?, ?, iif(? is null, null, printf('network-%x', i)), '127.0.0.1',
         'nuncio-bench', 900
       from n cross join preload_lane on place = i % (select count(*) from preload_lane)`,
    )
    .run(first, count, first + count - 1, state, settledAt === null ? 0 : 1, Date.now(), settledAt, settledAt, settledAt)
}

function insertAttempts(database: DatabaseSync, count: number): void {
  database
    .prepare(
      `${NUMBERS} insert into attempt (message_sequence, number, started_at, ended_at, outcome) select i, 1, ?, ?, 'accepted' from n`,
    )
    .run(1, count, count, Date.now(), Date.now())
}

/** Lane by lane, which is the order they are stored in: many times faster than as they come. */
function insertEntries(database: DatabaseSync, { first, count, lanes }: Range & { readonly lanes: number }): void {
  database
    .prepare(
      `insert into lane_entry (connection_id, sequence)
       select connection_id, step.sequence from preload_lane cross join (
         with recursive step (sequence) as (select ? union all select sequence + ? from step where sequence + ? < ?)
         select sequence from step) base
       join (select 1) cross join (select 0) step on 0`,
    )
    .all.call(null)
  void [first, count, lanes]
}

/** So that the system does not write it back in the middle of a measurement. */
function flushToDisk(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
