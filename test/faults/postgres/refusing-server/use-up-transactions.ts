import { execFileSync } from 'node:child_process'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findDumpingPrograms } from '../../../support/postgres/dumping-server.ts'
import type { PostgresServer } from '../../../support/postgres/postgres-server.ts'

// A server writes no further than 3 million before the oldest transaction that it must still know would seem to lie in the
// future, and warns of each for the last 40 million.
const HALF_OF_ALL = 2 ** 31
const KEPT_BACK = 3_000_000
// `pg_xact` has two bits for each, in files of 256 KB.
const FILE_BYTES = 262_144
const TRANSACTIONS_OF_A_FILE = FILE_BYTES * 4

/** Starts a server anew that has this many transactions left until a vacuum must have run. */
export async function leaveTransactions(server: PostgresServer, left: number): Promise<void> {
  const [oldest] = await server.query<{ xid: number }>(
    'select min(datfrozenxid::text::bigint)::int as xid from pg_database',
  )
  const next = (oldest?.xid ?? 0) + HALF_OF_ALL - KEPT_BACK - left
  await server.stop('fast')
  const { uid, gid } = statSync(server.dataFolder)
  execFileSync(join(findDumpingPrograms(), 'pg_resetwal'), ['-x', String(next), server.dataFolder], { uid, gid })
  const file = Math.floor(next / TRANSACTIONS_OF_A_FILE)
  for (const number of [file, file + 1]) {
    const path = join(server.dataFolder, 'pg_xact', number.toString(16).toUpperCase().padStart(4, '0'))
    writeFileSync(path, Buffer.alloc(FILE_BYTES))
    chownSync(path, uid, gid)
  }
  await server.start()
}
