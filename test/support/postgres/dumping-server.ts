import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { migrateDatabase } from '../../../src/storage/postgres/connection/open-database.ts'
import { memoryFolder } from './memory-folder.ts'
import { PostgresServer, type ServerOptions } from './postgres-server.ts'

// The folder in which Debian keeps each version with all its programs. The package from npm has no pg_dump.
const VERSIONS = '/usr/lib/postgresql'

/** Null where tests with pg_dump can run; otherwise the reason. */
export function obstacleToDumping(): string | null {
  return findPrograms() === undefined ? 'the Debian package postgresql is missing' : null
}

/** Opens a server of the same version as this machine's pg_dump, which refuses newer servers. */
export function openDumpingServer(options: ServerOptions = {}): Promise<PostgresServer> {
  return PostgresServer.open({ ...options, programs: findDumpingPrograms() })
}

/** The folder of its programs. */
export function findDumpingPrograms(): string {
  const programs = findPrograms()
  if (programs === undefined) throw new Error(`Install it: ${obstacleToDumping()}`)
  return programs
}

const TEMPLATE = 'with_our_tables'

/**
 * One server for all tests of the calling file, where it can run. Returns a function that creates a database for a test, with our
 * tables or empty, and returns its URL. The database is dropped after the test.
 */
export function shareDumpingServer(): (content?: 'our tables' | 'nothing') => Promise<string> {
  let server: PostgresServer | null = null
  let databases = 0
  beforeAll(async () => {
    if (obstacleToDumping() !== null) return
    server = await openDumpingServer({ parentFolder: memoryFolder() })
    const url = await server.createDatabase(TEMPLATE)
    await migrateDatabase({ url, migrateUrl: url })
  })
  afterAll(() => server?.close())
  return async (content = 'our tables') => {
    const own = server
    if (own === null) throw new Error(`Skip the test: ${obstacleToDumping()}`)
    databases += 1
    const name = `test_${databases}`
    const url = await own.createDatabase(name, content === 'our tables' ? TEMPLATE : undefined)
    onTestFinished(() => own.dropDatabase(name))
    return url
  }
}

function findPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined
  return readdirSync(VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(VERSIONS, version, 'bin'))
    .find((folder) => ['postgres', 'pg_dump', 'pg_restore', 'psql'].every((name) => existsSync(join(folder, name))))
}
