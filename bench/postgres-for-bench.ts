import { randomBytes } from 'node:crypto'
import type pg from 'pg'
import { PostgresServer, withClient } from '../test/support/postgres/postgres-server.ts'
import { canSeeProcesses, cpuSecondsOfFamily } from './process-facts.ts'

// Modest settings that an operator would change first. Without the last two a run would measure checkpoints.
const SETTINGS = {
  shared_buffers: '1GB',
  max_wal_size: '4GB',
  min_wal_size: '2GB',
  checkpoint_timeout: '15min',
  // For four of our processes and the software that they are compared with.
  max_connections: 200,
}
// Files of 16 MB each.
const LOG_FILES = 128
const SETTINGS_SHOWN = [
  'shared_buffers',
  // Known since version 17. The server uses huge pages by itself if the machine has reserved some: see docs/operating/scaling.md.
  'huge_pages_status',
  'max_wal_size',
  'checkpoint_timeout',
  'fsync',
  'synchronous_commit',
]

/** What a server has spent so far, for all its clients. */
export interface ServerSpent {
  readonly walBytes: number
  /** NaN if its processes cannot be seen. */
  readonly cpuSeconds: number
}

/** The PostgreSQL for all measurements: one that we start on the disk, or a named one. */
export class PostgresForBench {
  /** What a reader must know about it to understand the figures. */
  readonly facts: string
  readonly #url: string
  readonly #server: PostgresServer | null
  readonly #made = new Set<string>()

  private constructor({ url, server, facts }: { url: string; server: PostgresServer | null; facts: string }) {
    this.#url = url
    this.#server = server
    this.facts = facts
  }

  /** `parentFolder` is on a disk, and every user may enter it. */
  static async open(parentFolder: string): Promise<PostgresForBench> {
    const given = process.env['NUNCIO_BENCH_POSTGRES_URL'] ?? null
    const server =
      given === null ? await PostgresServer.open({ settings: SETTINGS, parentFolder, hasSocket: true }) : null
    // As it is used beside the service: see docs/operating/postgresql.md.
    const url = server ? server.socketUrl() : (given ?? '')
    if (server) await breakIn(url)
    return new PostgresForBench({ url, server, facts: await describeServer(url) })
  }

  /** Creates an empty database. Returns its URL. */
  async createDatabase(): Promise<string> {
    const name = `nuncio_bench_${randomBytes(6).toString('hex')}`
    await ask(this.#url, `create database ${name} template template0 encoding 'UTF8'`)
    this.#made.add(name)
    const url = new URL(this.#url)
    url.pathname = `/${name}`
    return url.href
  }

  /** Also ends the connections of its users. */
  async dropDatabase(url: string): Promise<void> {
    const name = new URL(url).pathname.slice(1)
    if (!this.#made.delete(name)) return
    await ask(this.#url, `drop database if exists ${name} with (force)`)
  }

  async spent(): Promise<ServerSpent> {
    const [row] = await ask<{ bytes: string }>(this.#url, `select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as bytes`)
    const pid = this.#server?.pid
    const isSeen = pid !== undefined && canSeeProcesses()
    return { walBytes: Number(row?.bytes), cpuSeconds: isSeen ? cpuSecondsOfFamily(pid) : Number.NaN }
  }

  /** Waits, so that no measurement pays for what was written before it. */
  async rest(): Promise<void> {
    await ask(this.#url, 'checkpoint')
  }

  async stop(): Promise<void> {
    for (const name of this.#made) await ask(this.#url, `drop database if exists ${name} with (force)`).catch(() => {})
    await this.#server?.close()
  }
}

export async function ask<Row extends pg.QueryResultRow>(
  url: string,
  sql: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return await withClient(url, async (client) => (await client.query<Row>(sql, [...values])).rows)
}

/**
 * A server that has worked for a day reuses the files of its log. A new one creates each file when it is needed, and everything
 * waits for that: it would be all that a run sees of latency.
 */
async function breakIn(url: string): Promise<void> {
  await withClient(url, async (client) => {
    for (let number = 0; number < LOG_FILES; number += 1) {
      await client.query('select pg_logical_emit_message(true, $1, $1)', ['bench'])
      await client.query('select pg_switch_wal()')
    }
    await client.query('checkpoint')
    await client.query('checkpoint')
  })
}

async function describeServer(url: string): Promise<string> {
  const rows = await ask<{ name: string; value: string }>(
    url,
    `select name, current_setting(name) as value from pg_settings where name = any ($1)`,
    [['server_version', ...SETTINGS_SHOWN]],
  )
  const value = (wanted: string) => rows.find(({ name }) => name === wanted)?.value ?? 'unknown'
  return `PostgreSQL ${value('server_version')} (${SETTINGS_SHOWN.map((name) => `${name} ${value(name)}`).join(', ')})`
}
