import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { run } from '../../../src/cli/run.ts'
import { readSettings } from '../../../src/config/read-settings.ts'
import { restoreBackup } from '../../../src/operations/backup/restore-backup.ts'
import { takeBackup } from '../../../src/operations/backup/take-backup.ts'
import { createChannelExtras } from '../../../src/operations/channel-extras.ts'
import { copyInstallation } from '../../../src/operations/copy.ts'
import { examine } from '../../../src/operations/doctor/examine.ts'
import { migrate } from '../../../src/operations/migrate.ts'
import { verify } from '../../../src/operations/verify/verify-installation.ts'
import { verifyAdapter } from '../../../src/operations/verify-adapter/verify-adapter.ts'
import { openAdministration } from '../../../src/server/wiring/open-administration.ts'
import { nuncioMain } from '../black-box/nuncio-environment.ts'

export interface CliAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The command line inside this process, on real data. */
export class CliOn {
  readonly #environment: Readonly<Record<string, string>>
  /** What commands read from stdin. */
  input = ''

  constructor(dataDir: string, environment: Readonly<Record<string, string>> = {}) {
    this.#environment = { NUNCIO_DATA_DIR: dataDir, ...environment }
  }

  async run(...args: readonly string[]): Promise<CliAnswer> {
    const said = { stdout: '', stderr: '' }
    const code = await run(args, {
      async out(text) {
        said.stdout += text
      },
      err(text) {
        said.stderr += text
      },
      heading: (text) => text,
      isTerminal: false,
      now: () => Date.now(),
      drawBytes: (count) => randomBytes(count),
      readSettings: (commandLine = {}) => readSettings({ commandLine, environment: this.#environment, envFile: {} }),
      openAdministration,
      serve: () => Promise.reject(new Error('A journey starts the service itself')),
      migrate,
      copy: copyInstallation,
      takeBackup,
      restoreBackup,
      openExtras: async () => createChannelExtras(),
      examine: (request) => examine({ ...request, program: nuncioMain }),
      verify,
      verifyAdapter,
      readInput: async () => this.input,
      readFile: (path) => readFile(path, 'utf8'),
      ask: null,
      fetch,
      onInterrupt: () => () => {},
      runAdapter: () => assert.fail('A journey starts the adapter itself'),
    })
    return { code, ...said }
  }

  /** Parses what a command prints with `--json`. */
  async json<Answer = unknown>(...args: readonly string[]): Promise<Answer> {
    const { code, stdout, stderr } = await this.run(...args, '--json')
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout) as Answer
  }
}
