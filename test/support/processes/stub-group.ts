import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { nuncioEnvironment } from '../black-box/nuncio-environment.ts'
import { waitUntil } from '../black-box/wait-until.ts'

const PARENT = fileURLToPath(new URL('./stub-parent.ts', import.meta.url))
const DEADLINE = { deadlineMs: 30_000, everyMs: 20 }

type Mode = 'serve' | 'refuse' | 'fault' | 'exit' | 'hang'

interface LogLine {
  readonly msg: string
  readonly process?: number
  readonly pid?: number
  readonly [field: string]: unknown
}

/** `nuncio serve --processes N` whose children serve only /metrics, which shows their process ids. */
export class StubGroup {
  readonly parent: ChildProcess
  readonly #dataDir: string
  readonly #ending: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  stdout = ''
  stderr = ''

  constructor({
    processes = 2,
    mode = 'serve',
    port = 0,
  }: {
    processes?: number
    mode?: Mode
    port?: number
  }) {
    this.#dataDir = mkdtempSync(join(tmpdir(), 'nuncio-processes-'))
    this.behave(mode)
    this.parent = spawn(process.execPath, [PARENT, 'serve', '--role', 'dispatch', '--processes', String(processes)], {
      cwd: this.#dataDir,
      env: nuncioEnvironment(this.#dataDir, {
        NUNCIO_DATABASE_URL: 'postgres://unused@nowhere.invalid/nuncio',
        NUNCIO_PORT: String(port),
        NUNCIO_LOG_LEVEL: 'info',
      }),
      // Its own process group, so that a test can signal all processes, as a terminal does.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.parent.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text
    })
    this.parent.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text
    })
    // `close` comes when it has ended and all output has been read, that of its children too.
    this.#ending = new Promise((resolve) => this.parent.once('close', (code, signal) => resolve({ code, signal })))
    onTestFinished(() => this.#clearAway())
  }

  /** Sets how children behave from now on. */
  behave(mode: Mode): void {
    writeFileSync(join(this.#dataDir, 'mode'), mode)
  }

  get log(): readonly LogLine[] {
    const lines = this.stdout.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'))
    return lines.map((line) => JSON.parse(line) as LogLine)
  }

  said(message: string): readonly LogLine[] {
    return this.log.filter(({ msg }) => msg === message)
  }

  /** The process ids of its children, ended ones too, in the order of their start. */
  get pids(): readonly number[] {
    return this.said('stub.starts').map(({ pid = 0 }) => pid)
  }

  get livingPids(): readonly number[] {
    return this.pids.filter(isRunning)
  }

  async serves(): Promise<string> {
    return waitUntil('it serves', async () => / on (http:\S+)/.exec(this.stdout)?.[1], DEADLINE).catch(
      (error: unknown) => {
        throw new Error(`${String(error)}\n${this.stdout}\n${this.stderr}`)
      },
    )
  }

  /** Waits until this many different processes have answered at the URL. Returns their ids. */
  async answersBy(url: string, count: number): Promise<ReadonlySet<number>> {
    const answered = new Set<number>()
    const ask = async () => {
      const response = await fetch(`${url}/metrics`, { headers: { connection: 'close' } }).catch(() => null)
      if (response) answered.add(Number((await response.text()).split(' ')[0]))
      return [...answered].filter((pid) => this.livingPids.includes(pid)).length === count
    }
    await waitUntil(`${count} processes answer`, ask, DEADLINE)
    return answered
  }

  signal(signal: NodeJS.Signals): void {
    this.parent.kill(signal)
  }

  /** Signals the parent and all its children, as a terminal does at Ctrl+C. */
  signalAll(signal: NodeJS.Signals): void {
    process.kill(-(this.parent.pid ?? Number.NaN), signal)
  }

  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    return waitUntil(
      'it ends',
      async () => Promise.race([this.#ending, new Promise<null>((resolve) => setTimeout(resolve, 20, null))]),
      DEADLINE,
    )
  }

  #clearAway(): void {
    for (const pid of [this.parent.pid ?? 0, ...this.livingPids]) if (pid > 0 && isRunning(pid)) kill(pid)
    rmSync(this.#dataDir, { recursive: true, force: true })
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process ended in the meantime.
  }
}
