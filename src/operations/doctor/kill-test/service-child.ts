import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { surroundingEnvironment } from '../../../config/surrounding-environment.ts'

const SAYS_WHERE = /^Nuncio serves on (\S+)$/m
const STARTS_WITHIN_MS = 60_000
const STOPS_WITHIN_MS = 40_000
const SHOWN = 600

interface ServicePlace {
  readonly folder: string
  /** All of its settings. */
  readonly environment: Readonly<Record<string, string>>
}

/** The real service as a process of its own, on the data of the test. */
export class ServiceChild {
  readonly #program: string
  readonly #folder: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #endWithUs = () => this.#child?.kill('SIGKILL')
  #child: ChildProcess | null = null
  #said = ''
  #url: string | null = null

  /** `program`: the file of the command line. It is started in the folder of the place, where no file `.env` lies. */
  constructor(program: string, { folder, environment }: ServicePlace) {
    this.#program = program
    this.#folder = folder
    this.#environment = environment
    process.once('exit', this.#endWithUs)
  }

  /** Where it takes calls; null while it does not. */
  get url(): string | null {
    return this.#url
  }

  /** Starts it and does not wait. */
  spawn(): void {
    this.#said = ''
    this.#url = null
    const child = spawn(process.execPath, [this.#program, 'serve'], {
      cwd: this.#folder,
      env: { ...surroundingEnvironment(), ...this.#environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#child = child
    const log = createWriteStream(join(this.#folder, 'service.log'), { flags: 'a' })
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => {
        log.write(bytes)
        this.#hear(child, String(bytes))
      })
    child.once('close', () => log.end())
    child.once('exit', () => {
      if (this.#child === child) this.#url = null
    })
  }

  /** Waits until it takes calls. */
  async ready(signal: AbortSignal): Promise<void> {
    const child = this.#child
    if (!child?.stdout) throw new Error('The service was not started')
    const ending = AbortSignal.any([signal, AbortSignal.timeout(STARTS_WITHIN_MS)])
    while (this.#url === null) {
      if (hasEnded(child)) throw new Error(`The service ended instead of starting: ${this.#said.slice(-SHOWN)}`)
      await Promise.race([once(child.stdout, 'data', { signal: ending }), once(child, 'exit', { signal: ending })])
    }
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** In order, as a supervisor stops it. */
  async stop(): Promise<void> {
    const timer = setTimeout(() => this.#child?.kill('SIGKILL'), STOPS_WITHIN_MS)
    await this.#end('SIGTERM')
    clearTimeout(timer)
  }

  /** Whatever it is doing. Harmless twice. */
  async close(): Promise<void> {
    process.off('exit', this.#endWithUs)
    await this.#end('SIGKILL')
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child
    if (!child || hasEnded(child)) return
    const ended = once(child, 'exit')
    child.kill(signal)
    await ended
  }

  #hear(child: ChildProcess, text: string): void {
    if (this.#child !== child) return
    this.#said += text
    this.#url ??= SAYS_WHERE.exec(this.#said)?.[1] ?? null
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
