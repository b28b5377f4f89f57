import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresServer, type ServerOptions } from './postgres-server.ts'

// Where Debian keeps each version with all its programs. What npm installs has no pg_dump.
const VERSIONS = '/usr/lib/postgresql'

/** Null where tests with pg_dump can run; else what stands in the way. */
export function obstacleToDumping(): string | null {
  return findPrograms() === undefined ? 'the Debian package postgresql is missing' : null
}

/** A server that the pg_dump of this machine is not older than. */
export function openDumpingServer(options: ServerOptions = {}): Promise<PostgresServer> {
  const programs = findPrograms()
  if (programs === undefined) throw new Error(`Install it: ${obstacleToDumping()}`)
  return PostgresServer.open({ ...options, programs })
}

function findPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined
  return readdirSync(VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(VERSIONS, version, 'bin'))
    .find((folder) => ['postgres', 'pg_dump', 'pg_restore', 'psql'].every((name) => existsSync(join(folder, name))))
}
