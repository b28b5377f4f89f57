import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { LoadAwareDeadline } from '../black-box/load-aware-deadline.ts'
import { type PostgresBinaries, serverEnvironment } from './postgres-binaries.ts'

// Recovery after a crash may have to read a long log.
const READY_WITHIN_MS = 60_000
const STOPPED_WITHIN_MS = 60_000
// The time that the child processes of a killed server have to notice and end.
const GONE_WITHIN_MS = 15_000
const POLL_EVERY_MS = 5
const LOG_SHOWN_BYTES = 4_000

/** `fast` disconnects clients and writes all data to disk. `immediate` is a crash: the next start recovers from the log. */
export type StopMode = 'fast' | 'immediate'

const SIGNALS: Readonly<Record<StopMode, NodeJS.Signals>> = { fast: 'SIGINT', immediate: 'SIGQUIT' }

interface PostmasterSettings {
  readonly binaries: PostgresBinaries
  readonly dataFolder: string
  /** The folder of its log and its process id. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** Also listens on a Unix socket in that folder. */
  readonly hasSocket: boolean
}

/** The process of a server on existing data. */
export class Postmaster {
  readonly #settings: PostmasterSettings
  #child: ChildProcess | null = null
  #ended: Promise<void> = Promise.resolve()

  constructor(settings: PostmasterSettings) {
    this.#settings = settings
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Starts it and waits until it accepts clients. */
  async start(port: number): Promise<void> {
    const deadline = new LoadAwareDeadline(GONE_WITHIN_MS)
    for (;;) {
      const before = this.#wholeLog().length
      this.#spawn(port)
      if (await this.#becomesReady()) return
      const logged = this.#wholeLog().slice(before)
      // The child processes of a killed server end as soon as they notice. Until then no other process may use the data.
      const mayPass = logged.includes('pre-existing shared memory block') && !deadline.isOver()
      if (!mayPass) throw new Error(`PostgreSQL did not start:\n${logged.slice(-LOG_SHOWN_BYTES)}`)
      await setTimeout(POLL_EVERY_MS * 10)
    }
  }

  /** Harmless when it is not running. */
  async stop(mode: StopMode): Promise<void> {
    await this.#end(SIGNALS[mode])
  }

  async killNine(): Promise<void> {
    await this.#end('SIGKILL')
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** The last part of its log. */
  get log(): string {
    return this.#wholeLog().slice(-LOG_SHOWN_BYTES)
  }

  #spawn(port: number): void {
    const { binaries, dataFolder, folder, environment, hasSocket } = this.#settings
    const settings = {
      port: String(port),
      listen_addresses: '127.0.0.1',
      unix_socket_directories: hasSocket ? folder : '',
      external_pid_file: join(folder, 'postmaster.pid'),
    }
    const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const log = openSync(this.#logFile, 'a')
    const child = spawn(binaries.path('postgres'), ['-D', dataFolder, ...flags], {
      cwd: '/',
      env: { ...serverEnvironment(), ...environment },
      // In its own process group: Ctrl-C in a terminal is for the tests, which end the server themselves.
      detached: true,
      stdio: ['ignore', log, log],
      ...(binaries.user && { uid: binaries.user.uid, gid: binaries.user.gid }),
    })
    closeSync(log)
    child.unref()
    this.#child = child
    this.#ended = new Promise((resolve, reject) => {
      child.once('error', reject).once('exit', () => resolve())
    })
    // Handled by those that await it. Until then it must not count as unhandled.
    this.#ended.catch(() => {})
  }

  async #becomesReady(): Promise<boolean> {
    const deadline = new LoadAwareDeadline(READY_WITHIN_MS)
    while (!this.#saysReady()) {
      if (this.#child?.pid === undefined) await this.#ended
      if (!this.isRunning) return false
      if (deadline.isOver()) {
        await this.killNine()
        throw new Error(`PostgreSQL was not ready within ${READY_WITHIN_MS} ms:\n${this.log}`)
      }
      await setTimeout(POLL_EVERY_MS)
    }
    return true
  }

  // As pg_ctl does: line 1 of the file is the process id, line 8 its state.
  #saysReady(): boolean {
    try {
      const lines = readFileSync(join(this.#settings.dataFolder, 'postmaster.pid'), 'utf8').split('\n')
      return Number(lines[0]) === this.#child?.pid && lines[7]?.trim() === 'ready'
    } catch {
      return false
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (!this.isRunning) return
    this.#child?.ref()
    this.signal(signal)
    const late = new AbortController()
    const deadline = setTimeout(STOPPED_WITHIN_MS, 'late', { signal: late.signal }).catch(() => null)
    const end = await Promise.race([this.#ended, deadline])
    late.abort()
    if (end !== 'late') return
    this.signal('SIGKILL')
    throw new Error(`PostgreSQL did not stop within ${STOPPED_WITHIN_MS} ms:\n${this.log}`)
  }

  #wholeLog(): string {
    try {
      return readFileSync(this.#logFile, 'utf8')
    } catch {
      return ''
    }
  }

  get #logFile(): string {
    return join(this.#settings.folder, 'postgres.log')
  }
}
