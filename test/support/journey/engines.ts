import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import type { Settings } from '../../../src/config/read-settings.ts'
import { openMigratedDatabase } from '../administration-world/migrated-database.ts'
import { openTestDatabase, type TestDatabase } from '../postgres/test-database.ts'
import { type Journey, type JourneyOptions, startNuncio } from './start-nuncio.ts'

type Row = Readonly<Record<string, unknown>>

/** Where the data of a journey are stored. People must see the same on each engine. */
export interface Engine {
  readonly name: 'SQLite' | 'PostgreSQL'
  /** Starts a service on its own data, which are removed after the test. */
  readonly start: (options?: JourneyOptions) => Promise<Journey>
  /** The settings that commands and the service need beside their data folder. The database is empty. */
  readonly openSettings: () => Promise<Readonly<Record<string, string>>>
  /** A statement that makes every command that changes something wait until a rollback. */
  readonly block: string
}

export const ENGINES: readonly Engine[] = [
  { name: 'SQLite', start: startNuncio, openSettings: async () => ({}), block: 'begin immediate' },
  {
    name: 'PostgreSQL',
    start: startOnPostgres,
    openSettings: async () => settingsFor(await openTestDatabase()),
    block: 'begin; select pg_advisory_xact_lock(3, 0)',
  },
]

async function startOnPostgres(options: JourneyOptions = {}): Promise<Journey> {
  // The database has its tables already: creating them takes longer than most of these journeys.
  const settings = settingsFor(await openMigratedDatabase())
  return startNuncio({ ...options, settings: { ...settings, ...options.settings } })
}

function settingsFor({ url, drop }: TestDatabase): Readonly<Record<string, string>> {
  // Clean-ups that a test registers later run first, so the service has stopped when its database is dropped.
  onTestFinished(drop)
  return { NUNCIO_DATABASE_URL: url }
}

/** The settings with which a command finds the data of a journey, beside its data folder. */
export function settingsOf({ database }: Pick<Journey, 'database'>): Readonly<Record<string, string>> {
  return database.engine === 'postgres' ? { NUNCIO_DATABASE_URL: database.url } : {}
}

/** Another program that writes to the same data, without our code. */
export interface Stranger {
  /** Runs statements, or one query. */
  run(sql: string): Promise<Row[]>
  close(): Promise<void>
}

export async function openStranger(database: Settings['database']): Promise<Stranger> {
  if (database.engine === 'postgres') {
    const client = new pg.Client({ connectionString: database.url })
    client.on('error', () => {})
    await client.connect()
    return { run: async (sql) => (await client.query<Row>(sql)).rows, close: () => client.end() }
  }
  const file = new DatabaseSync(database.path, { timeout: 5_000 })
  return { run: async (sql) => file.prepare(sql).all(), close: async () => file.close() }
}

/** Reads what is really stored. */
export async function readRows({ database }: Pick<Journey, 'database'>, sql: string): Promise<Row[]> {
  const stranger = await openStranger(database)
  try {
    return await stranger.run(sql)
  } finally {
    await stranger.close()
  }
}

/** Every stored row, as text. */
export async function readAllRows(database: Settings['database']): Promise<readonly string[]> {
  const isPostgres = database.engine === 'postgres'
  const stranger = await openStranger(database)
  try {
    const tables = await stranger.run(
      isPostgres
        ? `select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace`
        : `select name from sqlite_schema where type = 'table'`,
    )
    const rows: string[] = []
    for (const { name } of tables) {
      const found = await stranger.run(`select ${isPostgres ? 't::text as row' : '*'} from "${String(name)}" t`)
      rows.push(...found.map((row) => (isPostgres ? String(row['row']) : JSON.stringify(row))))
    }
    return rows
  } finally {
    await stranger.close()
  }
}
