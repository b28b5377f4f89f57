import { type ChildProcess, spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '../black-box/free-port.ts'
import { waitUntil } from '../black-box/wait-until.ts'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

interface AdapterSettings {
  /** The arguments of Node: a file, relative to the root of the project, and the first arguments of the program. */
  readonly program: readonly [file: string, ...given: string[]]
  readonly secretFile: string
  readonly log: string
  readonly arguments: readonly string[]
  /** The longest that a file may get, to simulate a full disk. A multiple of 512. */
  readonly mostFileBytes?: number | undefined
  /** The memory that the process may use. */
  readonly mostHeapMb?: number | undefined
}

/** An adapter of the project as a process of its own, which may be killed and started again on the same log. */
export class AdapterProcess {
  readonly origin: string
  readonly #settings: AdapterSettings
  readonly #port: number
  #child: ChildProcess | null = null
  output = ''

  private constructor(settings: AdapterSettings, port: number) {
    this.#settings = settings
    this.#port = port
    this.origin = `http://127.0.0.1:${port}`
  }

  static async create(settings: AdapterSettings): Promise<AdapterProcess> {
    return new AdapterProcess(settings, await findFreePort())
  }

  async start(): Promise<void> {
    const { secretFile, log, arguments: more, mostFileBytes, mostHeapMb } = this.#settings
    const [path, ...first] = this.#settings.program
    const file = resolve(ROOT, path)
    const given = [...first, '--listen', `127.0.0.1:${this.#port}`, '--secret-file', secretFile, '--log', log, ...more]
    const limited =
      mostFileBytes === undefined ? [] : ['sh', '-c', `ulimit -f ${mostFileBytes / 512} && exec "$0" "$@"`]
    const node = [process.execPath, ...(mostHeapMb === undefined ? [] : [`--max-old-space-size=${mostHeapMb}`])]
    const [command = '', ...args] = [...limited, ...node, file, ...given]
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.output = ''
    for (const output of [child.stdout, child.stderr])
      output.on('data', (text: Buffer) => {
        this.output += text.toString()
      })
    await waitUntil(
      'the adapter listens',
      async () => {
        if (child.exitCode !== null) throw new Error(`The adapter ended: ${this.output}`)
        return this.output.includes('listening')
      },
      { deadlineMs: 20_000, everyMs: 10 },
    )
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** By force, as a crash ends it. Harmless when it is not running. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
}
