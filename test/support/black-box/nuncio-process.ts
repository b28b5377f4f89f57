import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { nuncioEnvironment, nuncioMain, nuncioSource } from './nuncio-environment.ts'
import { waitUntil } from './wait-until.ts'

// Several services may start at once on a machine that is busy with other things.
const READY_WITHIN_MS = 60_000
const LOG_SHOWN_BYTES = 4_000

export interface ServiceSettings {
  readonly dataDir: string
  readonly port: number
  /** Distinguishes several processes in the same folder. */
  readonly name?: string
  /** The working directory, and the folder of its log. It lies outside of the data, which may be full or broken. */
  readonly workDir: string
  readonly environment?: Readonly<Record<string, string>>
  /** Further arguments of `serve`, such as `--processes`. */
  readonly serveArguments?: readonly string[]
  readonly onStart?: (pid: number) => void
  /** Another copy of the program. */
  readonly program?: readonly string[]
}

export interface Ending {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The real service as a process of its own, which may be killed and started again on the same data. */
export class NuncioProcess {
  readonly settings: ServiceSettings
  readonly url: string
  #child: ChildProcess | null = null
  #ending: Promise<Ending> = Promise.resolve({ code: null, signal: null })

  constructor(settings: ServiceSettings) {
    this.settings = settings
    this.url = `http://127.0.0.1:${settings.port}`
  }

  get pid(): number {
    const pid = this.#child?.pid
    if (pid === undefined) throw new Error('The service was not started')
    return pid
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null
  }

  /** Starts the service and waits until it reports that it is ready. Returns that time by the wall clock. */
  async start(): Promise<number> {
    this.spawn()
    return await waitUntil('the service becomes ready', () => this.#askReady(), {
      deadlineMs: READY_WITHIN_MS,
      everyMs: 20,
    })
  }

  /** Starts the service without waiting, for runs in which it may fail to start. */
  spawn(): void {
    const log = openSync(this.#logFile, 'a')
    const [program = '', ...given] = this.settings.program ?? [process.execPath, this.#main]
    const child = spawn(program, [...given, 'serve', ...(this.settings.serveArguments ?? [])], {
      cwd: this.settings.workDir,
      env: nuncioEnvironment(this.settings.dataDir, {
        NUNCIO_PORT: String(this.settings.port),
        ...this.settings.environment,
      }),
      stdio: ['ignore', log, log],
    })
    closeSync(log)
    this.#child = child
    this.#ending = new Promise((resolve, reject) => {
      child.once('error', reject).once('exit', (code, signal) => resolve({ code, signal }))
    })
    if (child.pid !== undefined) this.settings.onStart?.(child.pid)
  }

  /** A test that preloads a module wraps parts of the sources, which a build does not have. */
  get #main(): string {
    return this.settings.environment?.['NODE_OPTIONS']?.includes('--import') ? nuncioSource : nuncioMain
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** Resolves with how the process ended. */
  get ending(): Promise<Ending> {
    return this.#ending
  }

  async ended(withinMs: number): Promise<Ending> {
    const late = new AbortController()
    const deadline = setTimeout(withinMs, null, { signal: late.signal }).catch(() => null)
    const ending = await Promise.race([this.#ending, deadline])
    late.abort()
    if (ending === null) throw new Error(`The service did not end within ${withinMs} ms:\n${this.log}`)
    return ending
  }

  async killNine(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended(30_000)
  }

  /** Stops it as an operator does, and kills it if that takes too long. Harmless when it is not running. */
  async stop(): Promise<void> {
    if (!this.isRunning) return
    this.signal('SIGCONT')
    this.signal('SIGTERM')
    await this.ended(35_000).catch(() => this.killNine())
  }

  async isAlive(): Promise<boolean> {
    return (await this.#statusOf('/health/live')) === 200
  }

  /** The last part of its log. */
  get log(): string {
    return readFileSync(this.#logFile, 'utf8').slice(-LOG_SHOWN_BYTES)
  }

  get #logFile(): string {
    return join(this.settings.workDir, `${this.settings.name ?? 'service'}.log`)
  }

  async #askReady(): Promise<number | null> {
    if (!this.isRunning) throw new Error(`The service ended instead of becoming ready:\n${this.log}`)
    return (await this.#statusOf('/health/ready')) === 200 ? Date.now() : null
  }

  async #statusOf(path: string): Promise<number | null> {
    try {
      const response = await fetch(`${this.url}${path}`, { signal: AbortSignal.timeout(2_000) })
      await response.arrayBuffer()
      return response.status
    } catch {
      return null
    }
  }
}
