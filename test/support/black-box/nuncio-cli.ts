import { execFile } from 'node:child_process'
import { LoadAwareDeadline } from './load-aware-deadline.ts'
import { nuncioEnvironment, nuncioMain } from './nuncio-environment.ts'

const LONGEST_CALL_MS = 120_000
const LONGEST_OUTPUT_BYTES = 2 ** 30
// As long as a command waits for a connection.
const CONNECTS_WITHIN_MS = 5_000
const CONNECTION_TIMEOUT = /timeout expired|connection timeout/

export interface CliAnswer {
  readonly code: number | string
  readonly stdout: string
  readonly stderr: string
}

/** The command line, as a person uses it on the machine of the service. */
export class NuncioCli {
  readonly #dataDir: string
  readonly #workDir: string
  readonly #environment: Readonly<Record<string, string>>
  readonly #through: readonly string[]
  readonly #program: readonly string[]

  /**
   * `environment`: the settings of the service besides its data folder, such as the URL of its database. `through`: a program
   * with arguments that starts each command, for example with fewer rights. `program`: another copy of the program.
   */
  constructor(place: {
    readonly dataDir: string
    readonly workDir: string
    readonly environment?: Readonly<Record<string, string>>
    readonly through?: readonly string[]
    readonly program?: readonly string[]
  }) {
    this.#dataDir = place.dataDir
    this.#workDir = place.workDir
    this.#environment = place.environment ?? {}
    this.#through = place.through ?? []
    this.#program = place.program ?? [process.execPath, nuncioMain]
  }

  run(...args: readonly string[]): Promise<CliAnswer> {
    return this.runWith('', ...args)
  }

  /** Runs a command that reads from stdin, such as a password. */
  runWith(input: string, ...args: readonly string[]): Promise<CliAnswer> {
    const options = {
      cwd: this.#workDir,
      env: nuncioEnvironment(this.#dataDir, this.#environment),
      timeout: LONGEST_CALL_MS,
      maxBuffer: LONGEST_OUTPUT_BYTES,
    }
    return new Promise((resolve) => {
      const [program = '', ...given] = [...this.#through, ...this.#program, ...args]
      const child = execFile(program, given, options, (error, stdout, stderr) => {
        resolve({ code: error ? (error.code ?? error.signal ?? 'killed') : 0, stdout, stderr })
      })
      // A command that does not read its input may have ended already.
      child.stdin?.on('error', () => {})
      child.stdin?.end(input)
    })
  }

  /** Parses what a command prints with `--json`. If the command fails, rejects with what it printed. */
  json<Answer>(...args: readonly string[]): Promise<Answer> {
    return runJson(this, args)
  }
}

/**
 * Runs a command with `--json` and parses what it prints. On a busy machine a new connection to PostgreSQL may take longer than a
 * command waits for it. Then nothing has been done yet, and the command runs again.
 */
export async function runJson<Answer>(cli: Pick<NuncioCli, 'run'>, args: readonly string[]): Promise<Answer> {
  const deadline = new LoadAwareDeadline(CONNECTS_WITHIN_MS)
  for (;;) {
    const { code, stdout, stderr } = await cli.run(...args, '--json')
    if (code === 0) return JSON.parse(stdout) as Answer
    if (!CONNECTION_TIMEOUT.test(stderr) || deadline.isOver())
      throw new Error(`nuncio ${args.join(' ')} ended with ${code}: ${stderr}`)
  }
}
