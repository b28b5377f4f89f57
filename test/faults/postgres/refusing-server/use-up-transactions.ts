import { execFileSync } from 'node:child_process'
import { chownSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findDumpingPrograms } from '../../../support/postgres/dumping-server.ts'
import type { PostgresServer } from '../../../support/postgres/postgres-server.ts'

// A server stops 3 million ids before the oldest transaction that it must remember would seem to be in the future. For the last
// 40 million it warns at each.
const HALF_OF_ALL = 2 ** 31
const KEPT_BACK = 3_000_000
// `pg_xact` has two bits for each transaction, in files of 256 KB.
const FILE_BYTES = 262_144
const TRANSACTIONS_OF_A_FILE = FILE_BYTES * 4

/** Restarts a server with this many transactions left until a vacuum is needed. */
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
