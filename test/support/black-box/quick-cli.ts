import { run } from '../../../src/cli/run.ts'
import { openSurroundings, type Surroundings } from '../../../src/cli/surroundings.ts'
import { readSettings } from '../../../src/config/read-settings.ts'
import type { CliAnswer, NuncioCli } from './nuncio-cli.ts'

/**
 * The same command line inside this process. Starting a process costs half a second of one core, and a run with several
 * workers asks dozens of times while they need the machine.
 */
export class QuickCli implements Pick<NuncioCli, 'run' | 'json'> {
  readonly #surroundings: Surroundings

  constructor({ dataDir, databaseUrl }: { readonly dataDir: string; readonly databaseUrl: string }) {
    const environment = { NUNCIO_DATA_DIR: dataDir, NUNCIO_DATABASE_URL: databaseUrl }
    this.#surroundings = {
      ...openSurroundings(),
      readSettings: (commandLine = {}) => readSettings({ commandLine, environment, envFile: {} }),
    }
  }

  async run(...args: readonly string[]): Promise<CliAnswer> {
    const parts: Record<'out' | 'err', string[]> = { out: [], err: [] }
    const code = await run(args, {
      ...this.#surroundings,
      out: async (text) => void parts.out.push(text),
      err: (text) => void parts.err.push(text),
    })
    return { code, stdout: parts.out.join(''), stderr: parts.err.join('') }
  }

  async json<Answer>(...args: readonly string[]): Promise<Answer> {
    const { code, stdout, stderr } = await this.run(...args, '--json')
    if (code !== 0) throw new Error(`nuncio ${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout) as Answer
  }
}
