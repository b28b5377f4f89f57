import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { findFreePort } from '../black-box/free-port.ts'
import { waitUntil } from '../black-box/wait-until.ts'
import { OwnedFolder } from './owned-folder.ts'
import { serverEnvironment } from './postgres-binaries.ts'
import type { PostgresSettings } from './postgres-server.ts'
import { findUnprivilegedUser } from './unprivileged-user.ts'

const PROGRAM = '/usr/sbin/pgbouncer'
const READY_WITHIN_MS = 60_000
const ENDED_WITHIN_MS = 5_000

interface PoolOptions {
  /** The URL of a server, or of a fault proxy in front of it. Its user and password are also those of the pool. */
  readonly serverUrl: string
  /** Lines of the section `[pgbouncer]`. */
  readonly settings?: PostgresSettings
  /** The port of a PgBouncer that has ended and that this one replaces. Left out: a free port. */
  readonly port?: number
}

/** Null where it can be started; otherwise the reason, for the name of a skipped test. */
export function whyNoPgBouncer(): string | null {
  return existsSync(PROGRAM) ? null : 'Debian package pgbouncer is not installed'
}

/** A real PgBouncer in transaction mode on 127.0.0.1. It ends with this process, however that ends. */
export class PgBouncer {
  readonly port: number
  readonly #serverUrl: string
  readonly #folder: OwnedFolder
  readonly #child: ChildProcess

  private constructor(options: PoolOptions, port: number) {
    this.port = port
    this.#serverUrl = options.serverUrl
    this.#folder = OwnedFolder.open()
    this.#child = this.#spawn(options)
  }

  static async open(options: PoolOptions): Promise<PgBouncer> {
    const pool = new PgBouncer(options, options.port ?? (await findFreePort()))
    try {
      await waitUntil('PgBouncer takes clients', () => pool.#takesClients(), {
        deadlineMs: READY_WITHIN_MS,
        everyMs: 10,
      })
      return pool
    } catch (error) {
      const { log } = pool
      await pool.stop()
      throw new Error(`PgBouncer did not start:\n${log}`, { cause: error })
    }
  }

  /** The URL of a database of the server, through the pool. */
  url(database: string): string {
    const url = new URL(this.#serverUrl)
    url.hostname = '127.0.0.1'
    url.port = String(this.port)
    url.pathname = `/${encodeURIComponent(database)}`
    return url.href
  }

  get log(): string {
    return readFileSync(this.#file('pgbouncer.log'), 'utf8')
  }

  /** Disconnects its clients. Stopping twice is harmless. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    if (this.#isRunning) {
      this.#child.ref()
      const ended = once(this.#child, 'exit', { signal: AbortSignal.timeout(ENDED_WITHIN_MS) })
      this.#child.kill(signal)
      await ended.catch(() => this.#child.kill('SIGKILL'))
    }
    await this.#folder.close()
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  #spawn({ serverUrl, settings }: PoolOptions): ChildProcess {
    const server = new URL(serverUrl)
    const user = findUnprivilegedUser()
    // In clear text: PgBouncer needs it to log in to the server by SCRAM.
    const users = `"${decodeURIComponent(server.username)}" "${decodeURIComponent(server.password).replaceAll('"', '""')}"\n`
    const lines = Object.entries({
      listen_addr: '127.0.0.1',
      listen_port: this.port,
      unix_socket_dir: '',
      auth_type: 'scram-sha-256',
      auth_file: this.#file('users.txt'),
      pidfile: this.#file('pgbouncer.pid'),
      pool_mode: 'transaction',
      max_client_conn: 500,
      ...settings,
    }).map(([name, value]) => `${name} = ${value}\n`)
    const databases = `[databases]\n* = host=${server.hostname} port=${server.port || 5432}\n`
    const files = { 'users.txt': users, 'pgbouncer.ini': `${databases}\n[pgbouncer]\n${lines.join('')}` }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(this.#file(name), text, { mode: 0o600 })
      if (user) chownSync(this.#file(name), user.uid, user.gid)
    }
    const log = openSync(this.#file('pgbouncer.log'), 'a')
    const child = spawn(PROGRAM, [this.#file('pgbouncer.ini')], {
      cwd: '/',
      env: serverEnvironment(),
      detached: true,
      stdio: ['ignore', log, log],
      ...(user && { uid: user.uid, gid: user.gid }),
    })
    closeSync(log)
    child.on('error', () => {})
    child.unref()
    return child
  }

  async #takesClients(): Promise<boolean> {
    if (!this.#isRunning) throw new Error('It ended at once')
    const socket = connect(this.port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return true
    } catch {
      return false
    } finally {
      socket.destroy()
    }
  }

  #file(name: string): string {
    return join(this.#folder.path, name)
  }
}
