import { closeSync, fsyncSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { MadeData } from './made-data.ts'
import type { WantedRows } from './preload.ts'
import { sendBody } from './send-request.ts'

/** Fills the database of a stopped service, as if it had accepted and settled all these messages before. */
export function preloadSqlite(data: MadeData, { waiting, settled }: WantedRows): void {
  const database = new DatabaseSync(data.database)
  try {
    // Without a journal: after an interruption the folder is deleted. The service sets its own mode before it starts.
    database.exec('pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -262144')
    listLanes(database, data)
    database.exec('begin')
    const before = { first: 1, last: settled }
    const now = { first: settled + 1, last: settled + waiting }
    insertMessages(database, { ...before, state: 'PUBLISHED' })
    insertMessages(database, { ...now, state: 'QUEUED' })
    insertAttempts(database, before)
    insertEntries(database, data, now)
    database.prepare('update indexed_through set sequence = ?').run(settled + waiting)
    database.exec(`commit; drop table preload_lane; pragma journal_mode = wal; pragma optimize`)
  } finally {
    database.close()
  }
  flushToDisk(data.database)
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
  readonly last: number
}

const NUMBERS =
  'with recursive n (i) as (select :first where :first <= :last union all select i + :step from n where i + :step <= :last)'

/** The lanes take turns, as in a busy service: neighbours in one lane are far apart. */
function insertMessages(database: DatabaseSync, { first, last, state }: Range & { readonly state: string }): void {
  const isSettled = state !== 'QUEUED'
  database
    .prepare(
      `${NUMBERS} insert into message (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc,
         recipient, type, state, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us)
       select i, printf('01980000-0000-7000-8000-%012x', i), account_id, connection_id, 'tok_benchbenchbe',
         printf('bench-%x', i), body, crc, '15551234567', 'message', :state, :attempts, :now, :settledAt, :settledAt,
         iif(:attempts = 0, null, printf('network-%x', i)), '127.0.0.1', 'nuncio-bench', 900
       from n cross join preload_lane on place = i % (select count(*) from preload_lane)`,
    )
    .run({
      first,
      last,
      step: 1,
      state,
      attempts: isSettled ? 1 : 0,
      now: Date.now(),
      settledAt: isSettled ? Date.now() : null,
    })
}

function insertAttempts(database: DatabaseSync, { first, last }: Range): void {
  database
    .prepare(
      `${NUMBERS} insert into attempt (message_sequence, number, started_at, ended_at, outcome) select i, 1, :now, :now, 'accepted' from n`,
    )
    .run({ first, last, step: 1, now: Date.now() })
}

/** Lane by lane, in the order of storage: many times faster than in the order of acceptance. */
function insertEntries(database: DatabaseSync, { connections }: MadeData, { first, last }: Range): void {
  const step = connections.length
  const insert = database.prepare(`${NUMBERS} insert into lane_entry (connection_id, sequence) select :id, i from n`)
  for (const [place, { id }] of connections.entries()) {
    insert.run({ first: first + ((((place - first) % step) + step) % step), last, step, id })
  }
}

/** Otherwise the system might write it back in the middle of a measurement. */
function flushToDisk(path: string): void {
  const file = openSync(path, 'r')
  fsyncSync(file)
  closeSync(file)
}
