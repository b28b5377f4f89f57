import { readSettings } from '../../../src/config/read-settings.ts'
import { type CliAnswer, type NuncioCli, runJson } from './nuncio-cli.ts'

interface Place {
  readonly dataDir: string
  /** Left out: the SQLite database in the data folder. */
  readonly databaseUrl?: string
  /** Further settings of the service. */
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * The same command line inside this process. Starting a process costs half a second of one core, and a run with several workers
 * calls dozens of commands while the workers need the machine.
 */
export class QuickCli implements Pick<NuncioCli, 'run' | 'runWith' | 'json'> {
  readonly #environment: Readonly<Record<string, string>>

  constructor({ dataDir, databaseUrl, environment }: Place) {
    this.#environment = {
      ...environment,
      NUNCIO_DATA_DIR: dataDir,
      ...(databaseUrl === undefined ? {} : { NUNCIO_DATABASE_URL: databaseUrl }),
    }
  }

  /** Loads the program in advance; otherwise the first command does. */
  static async load(): Promise<void> {
    await Promise.all([loadProgram(), import('../../../src/server/wiring/open-administration.ts')])
  }

  run(...args: readonly string[]): Promise<CliAnswer> {
    return this.runWith('', ...args)
  }

  /** Runs a command that reads from stdin, such as a password. */
  async runWith(input: string, ...args: readonly string[]): Promise<CliAnswer> {
    const { run, surroundings } = await loadProgram()
    const parts: Record<'out' | 'err', string[]> = { out: [], err: [] }
    const code = await run(args, {
      ...surroundings,
      readSettings: (commandLine = {}) => readSettings({ commandLine, environment: this.#environment, envFile: {} }),
      readInput: async () => input,
      out: async (text) => void parts.out.push(text),
      err: (text) => void parts.err.push(text),
    })
    return { code, stdout: parts.out.join(''), stderr: parts.err.join('') }
  }

  json<Answer>(...args: readonly string[]): Promise<Answer> {
    return runJson(this, args)
  }
}

let program: ReturnType<typeof importProgram> | null = null

function loadProgram(): ReturnType<typeof importProgram> {
  program ??= importProgram()
  return program
}

async function importProgram() {
  const [{ run }, { openEnvironment }] = await Promise.all([
    import('../../../src/cli/run.ts'),
    import('../../../src/cli/environment.ts'),
  ])
  return { run, surroundings: openEnvironment('') }
}
