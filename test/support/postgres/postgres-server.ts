import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { findFreePort } from '../black-box/free-port.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { copyRunningData } from './base-backup.ts'
import { OwnedFolder } from './owned-folder.ts'
import { PostgresBinaries, serverEnvironment } from './postgres-binaries.ts'
import { Postmaster, type StopMode } from './postmaster.ts'

export type PostgresSettings = Readonly<Record<string, string | number | boolean>>

export interface ServerOptions {
  /** Kept when the server is closed. If a server has worked here before, its data are used. Left out: a temporary folder. */
  readonly dataFolder?: string
  /** Lines of its configuration. */
  readonly settings?: PostgresSettings
  /** The password of the superuser `postgres`. Existing data keep their password, so it must be given for them. */
  readonly password?: string
  readonly initdbFlags?: readonly string[]
  /** Added to its environment, for example that of a fake clock. */
  readonly environment?: Readonly<Record<string, string>>
  /** Where its folder is created. Left out: the system's temporary folder. */
  readonly parentFolder?: string
  /** The folder with the programs of another PostgreSQL than the one from npm. */
  readonly programs?: string
  /** Also listens on a Unix socket: see `socketUrl`. */
  readonly hasSocket?: boolean
}

interface StandbyOptions {
  /** The name of its replication slot, and its `application_name`, which `synchronous_standby_names` of the primary may list. */
  readonly name?: string
  /** The port by which it reaches the primary. Left out: the primary's own. A test may give that of a fault proxy. */
  readonly primaryPort?: number
  readonly settings?: PostgresSettings
}

const SETTINGS_FILE = 'test.conf'
const SUPERUSER = 'postgres'
const CAUGHT_UP_WITHIN_MS = 30_000

interface Parts {
  readonly folder: OwnedFolder
  readonly binaries: PostgresBinaries
  readonly dataFolder: string
  /** The caller gave the folder, and may simulate a power cut on it. */
  readonly isKept: boolean
  readonly password: string
  readonly port: number
  readonly environment: Readonly<Record<string, string>>
  readonly hasSocket: boolean
}

/**
 * A real PostgreSQL on 127.0.0.1, on a free port that it keeps over restarts. It prints nothing, and ends with this process,
 * however that ends.
 */
export class PostgresServer {
  readonly port: number
  readonly password: string
  readonly dataFolder: string
  readonly #parts: Parts
  readonly #postmaster: Postmaster
  #settings: PostgresSettings
  #wasKilled = false

  private constructor(parts: Parts, settings: PostgresSettings) {
    this.#parts = parts
    this.port = parts.port
    this.password = parts.password
    this.dataFolder = parts.dataFolder
    this.#settings = settings
    this.#postmaster = new Postmaster({ ...parts, folder: parts.folder.path })
  }

  /** Starts the server, after creating its data if there are none yet. */
  static async open(options: ServerOptions = {}): Promise<PostgresServer> {
    const parts = await openParts(options)
    try {
      if (existsSync(join(parts.dataFolder, 'PG_VERSION'))) forgetOriginal(parts.dataFolder)
      else await initialise(parts, options.initdbFlags ?? [])
      return await PostgresServer.#startOn(parts, options.settings ?? {})
    } catch (error) {
      await closeParts(parts)
      throw error
    }
  }

  static async #startOn(parts: Parts, settings: PostgresSettings): Promise<PostgresServer> {
    const server = new PostgresServer(parts, settings)
    server.#writeSettings()
    await server.start()
    return server
  }

  get pid(): number | undefined {
    return this.#postmaster.pid
  }

  get isRunning(): boolean {
    return this.#postmaster.isRunning
  }

  get majorVersion(): number {
    return this.#parts.binaries.majorVersion
  }

  /** The last part of the server's log. */
  get log(): string {
    return this.#postmaster.log
  }

  url(database = SUPERUSER, port = this.port): string {
    return `postgres://${SUPERUSER}:${encodeURIComponent(this.password)}@127.0.0.1:${port}/${encodeURIComponent(database)}`
  }

  /** The URL through the Unix socket, if it has one. */
  socketUrl(database = SUPERUSER): string {
    const way = { host: this.#parts.folder.path, port: String(this.port), user: SUPERUSER, password: this.password }
    return `postgres:///${encodeURIComponent(database)}?${new URLSearchParams(way)}`
  }

  /** Runs one statement on its own connection. */
  async query<Row extends pg.QueryResultRow>(
    text: string,
    values: readonly unknown[] = [],
    database = SUPERUSER,
  ): Promise<Row[]> {
    return await withClient(this.url(database), async (client) => (await client.query<Row>(text, [...values])).rows)
  }

  /** Creates a database, from the template if there is one. Returns its URL. */
  async createDatabase(name: string, template?: string): Promise<string> {
    const copied = template === undefined ? '' : ` template ${pg.escapeIdentifier(template)} strategy file_copy`
    await this.query(`create database ${pg.escapeIdentifier(name)}${copied}`)
    return this.url(name)
  }

  /** Drops a database, and disconnects its clients. */
  async dropDatabase(name: string): Promise<void> {
    await this.query(`drop database if exists ${pg.escapeIdentifier(name)} with (force)`)
  }

  async start(): Promise<void> {
    await this.#postmaster.start(this.port)
    this.#wasKilled = false
  }

  /** Harmless when it is not running. */
  async stop(mode: StopMode): Promise<void> {
    await this.#postmaster.stop(mode)
  }

  async restart(mode: StopMode): Promise<void> {
    await this.stop(mode)
    await this.start()
  }

  /** Kills only the postmaster, as the out-of-memory killer of the kernel does. Its child processes end when they notice. */
  async killNine(): Promise<void> {
    await this.#postmaster.killNine()
    this.#wasKilled = true
  }

  /** Changes settings of the running server. Returns once they are in effect. */
  async reload(settings: PostgresSettings): Promise<void> {
    const [before] = await this.query<{ at: Date }>('select pg_conf_load_time() as at')
    this.#settings = { ...this.#settings, ...settings }
    this.#writeSettings()
    this.#postmaster.signal('SIGHUP')
    await waitUntil('the server has read its settings', () => this.#hasLoadedSince(before!.at), {
      deadlineMs: CAUGHT_UP_WITHIN_MS,
      everyMs: 5,
    })
    // The checkpointer publishes which standbys are synchronous. It reads its settings before it does the checkpoint.
    await this.query('checkpoint')
  }

  /** Creates a standby that streams from this server. It has caught up when this returns. */
  async openStandby({
    name = 'standby',
    primaryPort = this.port,
    settings = {},
  }: StandbyOptions = {}): Promise<PostgresServer> {
    const { environment, password } = this.#parts
    const parts = await openParts({ environment, password })
    try {
      // From now on the replication slot keeps the log for the standby, however long it is away.
      await this.query('select pg_create_physical_replication_slot($1, true)', [name])
      await withClient(this.url(), (client) =>
        copyRunningData({ client, from: this.dataFolder, to: parts.dataFolder, owner: parts.binaries.user }),
      )
      writeOwned(parts, 'standby.signal', '')
      const standby = await PostgresServer.#startOn(parts, {
        ...this.#settings,
        synchronous_standby_names: '',
        primary_conninfo: connectionInfo({ host: '127.0.0.1', port: primaryPort, user: SUPERUSER, password, name }),
        primary_slot_name: name,
        ...settings,
      })
      await standby.catchUpWith(this)
      return standby
    } catch (error) {
      await closeParts(parts)
      throw error
    }
  }

  /** Waits until this standby shows everything that the primary has committed so far. */
  async catchUpWith(primary: PostgresServer): Promise<void> {
    const [written] = await primary.query<{ lsn: string }>('select pg_current_wal_lsn()::text as lsn')
    await waitUntil(
      'the standby catches up',
      async () => {
        const sql = 'select coalesce(pg_last_wal_replay_lsn() >= $1::pg_lsn, false) as has'
        return (await this.query<{ has: boolean }>(sql, [written!.lsn]))[0]?.has
      },
      { deadlineMs: CAUGHT_UP_WITHIN_MS, everyMs: 10 },
    )
  }

  /** Makes this standby a primary. The old primary is not asked; it may still be running. */
  async promote(): Promise<void> {
    const [result] = await this.query<{ done: boolean }>('select pg_promote(true, 60) as done')
    if (!result?.done) throw new Error(`PostgreSQL was not promoted within a minute:\n${this.log}`)
  }

  /** Stops it at once and removes what it has created for itself. */
  async close(): Promise<void> {
    // A killed server leaves shared memory that only its next start can find. That start may fail.
    if (this.#wasKilled) await this.start().catch(() => {})
    await this.stop('immediate')
    await closeParts(this.#parts)
  }

  async #hasLoadedSince(before: Date): Promise<boolean> {
    const [row] = await this.query<{ at: Date }>('select pg_conf_load_time() as at')
    return row!.at.getTime() !== before.getTime()
  }

  #writeSettings(): void {
    const lines = Object.entries(this.#settings).map(([name, value]) => `${name} = ${quote(String(value))}\n`)
    writeOwned(this.#parts, SETTINGS_FILE, lines.join(''))
  }
}

/** Runs `work` on a connection that is closed afterwards. */
export async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  // A cut connection also fails the running query, and that is where it is handled.
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function openParts(options: ServerOptions): Promise<Parts> {
  const binaries = await PostgresBinaries.open(options.programs)
  const folder = OwnedFolder.open(options.parentFolder)
  return {
    folder,
    binaries,
    dataFolder: options.dataFolder ?? join(folder.path, 'data'),
    isKept: options.dataFolder !== undefined,
    password: options.password ?? randomBytes(12).toString('hex'),
    port: await findFreePort(),
    environment: options.environment ?? {},
    hasSocket: options.hasSocket ?? false,
  }
}

async function closeParts({ folder, binaries }: Parts): Promise<void> {
  await folder.close()
  await binaries.close()
}

async function initialise(parts: Parts, flags: readonly string[]): Promise<void> {
  const { binaries, dataFolder, folder, password } = parts
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 })
  giveToServer(parts, dataFolder)
  const passwordFile = join(folder.path, 'password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  giveToServer(parts, passwordFile)
  const standard = ['--encoding=UTF8', '--locale=C', '--auth=scram-sha-256', `--username=${SUPERUSER}`]
  // Thousands of rounds make a stolen hash useless. Tests open many connections, and each would pay for them.
  const cheap = binaries.majorVersion >= 16 ? ['--set=scram_iterations=1'] : []
  const quick = parts.isKept ? [] : ['--no-sync']
  try {
    await promisify(execFile)(
      binaries.path('initdb'),
      ['-D', dataFolder, `--pwfile=${passwordFile}`, ...standard, ...cheap, ...quick, ...flags],
      {
        cwd: '/',
        env: serverEnvironment(),
        ...(binaries.user && { uid: binaries.user.uid, gid: binaries.user.gid }),
      },
    )
  } catch (error) {
    const who = binaries.user ? `, as the user "${binaries.user.name}", who has to be able to enter it` : ''
    throw new Error(`PostgreSQL could not make its data in ${dataFolder}${who}`, { cause: error })
  } finally {
    rmSync(passwordFile)
  }
  const settings = join(dataFolder, 'postgresql.conf')
  appendFileSync(settings, `include_if_exists '${SETTINGS_FILE}'\n`)
  if (parts.isKept) sync(settings)
}

// In a copy of a running server's data, this file names the process of the original, which may still be running.
function forgetOriginal(dataFolder: string): void {
  const file = join(dataFolder, 'postmaster.pid')
  if (existsSync(file) && readFileSync(file, 'utf8').split('\n')[1] !== dataFolder) rmSync(file)
}

function writeOwned(parts: Parts, name: string, text: string): void {
  const file = join(parts.dataFolder, name)
  writeFileSync(file, text, { mode: 0o600 })
  giveToServer(parts, file)
  if (parts.isKept) sync(file)
}

/** Flushes a file and its entry in the folder. */
function sync(file: string): void {
  for (const path of [file, dirname(file)]) {
    const opened = openSync(path, 'r')
    fsyncSync(opened)
    closeSync(opened)
  }
}

function giveToServer({ binaries }: Parts, path: string): void {
  if (binaries.user) chownSync(path, binaries.user.uid, binaries.user.gid)
}

interface Primary {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly password: string
  /** The name of the standby. */
  readonly name: string
}

function connectionInfo({ name, ...primary }: Primary): string {
  const pairs = Object.entries({ ...primary, application_name: name, connect_timeout: 5 })
  return pairs.map(([key, value]) => `${key}='${String(value).replaceAll(/['\\]/g, '\\$&')}'`).join(' ')
}

/** Quotes a value for a configuration file. */
function quote(value: string): string {
  return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
