import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { buffer } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { assetPath } from '../assets/asset-path.ts'
import { loadSettings } from '../config/load-settings.ts'
import type { Settings, SettingsReading } from '../config/read-settings.ts'
import { decodeText } from '../core/decode-text.ts'
import type { Instant } from '../core/ids.ts'
import { Refusal } from '../core/refusals.ts'
import type { Restored, RestoreRequest } from '../operations/backup/restore-request.ts'
import type { BackupRequest, TakenBackup } from '../operations/backup/take-backup.ts'
import type { ChannelExtras } from '../operations/channel-extras.ts'
import type { Copied, CopyRequest } from '../operations/copy.ts'
import type { ExamineRequest } from '../operations/doctor/examine.ts'
import type { Finding } from '../operations/doctor/finding.ts'
import type { Verified } from '../operations/verify/verify-contents.ts'
import type { VerifyRequest } from '../operations/verify/verify-request.ts'
import type { CaseResult } from '../operations/verify-adapter/adapter-case.ts'
import type { VerifyAdapterRequest } from '../operations/verify-adapter/verify-adapter.ts'
import type { AdministrationSession } from '../server/wiring/open-administration.ts'

/** All that commands need from outside. */
export interface Environment {
  /** Resolves when more may be written. Rejects with `OutputClosed` when the reader has gone. */
  readonly out: (text: string) => Promise<void>
  readonly err: (text: string) => void
  readonly heading: (text: string) => string
  /** Whether a person reads along; else perhaps a program, or a log. */
  readonly isTerminal: boolean
  readonly now: () => Instant
  readonly drawBytes: (count: number) => Uint8Array
  /** `given`: settings named on the command line, which win over all others. */
  readonly readSettings: (given?: Readonly<Record<string, string | undefined>>) => SettingsReading
  readonly openAdministration: (
    settings: Settings,
    options: { readonly create: boolean },
  ) => Promise<AdministrationSession>
  readonly serve: (settings: Settings) => Promise<void>
  readonly migrate: (settings: Settings) => Promise<{ readonly from: number; readonly to: number }>
  readonly copy: (request: CopyRequest) => Promise<Copied>
  readonly takeBackup: (request: BackupRequest) => Promise<TakenBackup>
  readonly restoreBackup: (request: RestoreRequest) => Promise<Restored>
  readonly openExtras: () => Promise<ChannelExtras>
  readonly examine: (request: Omit<ExamineRequest, 'program'>) => AsyncIterable<Finding>
  readonly verify: (request: VerifyRequest) => Promise<Verified>
  readonly verifyAdapter: (request: VerifyAdapterRequest) => AsyncIterable<CaseResult>
  /** Reads standard input to its end, for what must not be on the command line. */
  readonly readInput: () => Promise<string>
  /** As text. Rejects as Node does, and with a refusal for what is no UTF-8. */
  readonly readFile: (path: string) => Promise<string>
  /** Asks the person at the terminal; null when there is no terminal. */
  readonly ask: ((asked: { readonly question: string; readonly isHidden: boolean }) => Promise<string>) | null
  /** Starts an adapter in this process, which then goes on until it is stopped. */
  readonly runAdapter: (name: string, given: readonly string[]) => void
  /** Calls `stop` once when a person interrupts (Ctrl+C), instead of ending at once. Returns a function that undoes this. */
  readonly onInterrupt: (stop: () => void) => () => void
  readonly fetch: (url: string, request: RequestInit) => Promise<Response>
}

/** The reader of our output has gone, such as `head` after ten lines. Nothing more is printed. */
export class OutputClosed extends Error {}

/** `program`: the file that runs, which some commands start once more. */
export function openEnvironment(program: string): Environment {
  // Without a listener the error of a closed pipe would end the process with a stack trace.
  process.stdout.on('error', () => {})
  return {
    out: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (error) => (error ? reject(new OutputClosed('', { cause: error })) : resolve()))
      }),
    err: (text) => void process.stderr.write(text),
    heading: (text) => styleText('bold', text, { stream: process.stdout }),
    isTerminal: process.stdout.isTTY,
    now: () => Date.now(),
    drawBytes: (count) => randomBytes(count),
    readSettings: loadSettings,
    async openAdministration(settings, options) {
      const { openAdministration } = await import('../server/wiring/open-administration.ts')
      return openAdministration(settings, options)
    },
    async serve(settings) {
      const { serve } = await import('../server/serve.ts')
      await serve(settings, program)
    },
    async migrate(settings) {
      const { migrate } = await import('../operations/migrate.ts')
      return migrate(settings)
    },
    async copy(request) {
      const { copyInstallation } = await import('../operations/copy.ts')
      return copyInstallation(request)
    },
    async takeBackup(request) {
      const { takeBackup } = await import('../operations/backup/take-backup.ts')
      return takeBackup(request)
    },
    async restoreBackup(request) {
      const { restoreBackup } = await import('../operations/backup/restore-backup.ts')
      return restoreBackup(request)
    },
    async openExtras() {
      const { createChannelExtras } = await import('../operations/channel-extras.ts')
      return createChannelExtras()
    },
    async *examine(request) {
      const { examine } = await import('../operations/doctor/examine.ts')
      yield* examine({ ...request, program })
    },
    async *verifyAdapter(request) {
      const { verifyAdapter } = await import('../operations/verify-adapter/verify-adapter.ts')
      yield* verifyAdapter(request)
    },
    async verify(request) {
      const { verify } = await import('../operations/verify/verify-installation.ts')
      return verify(request)
    },
    readInput: async () => textOf(await buffer(process.stdin), 'Standard input'),
    readFile: async (path) => textOf(await readFile(path), `The file ${path}`),
    ask: createAsking(),
    onInterrupt(stop) {
      process.once('SIGINT', stop)
      return () => void process.off('SIGINT', stop)
    },
    fetch: (url, request) => fetch(url, request),
    runAdapter(name, given) {
      const file = assetPath(`adapters/${name}.mjs`)
      process.argv = [process.execPath, file, ...given]
      createRequire(file)(file)
    },
  }
}

function textOf(bytes: Buffer, what: string): string {
  const decoded = decodeText(bytes)
  if ('wrong' in decoded) throw new Refusal('argument_invalid', `${what} ${decoded.wrong}`)
  return decoded.text
}

/** Questions go to stderr, so that stdout carries nothing but answers. */
function createAsking(): Environment['ask'] {
  const { stdin, stderr } = process
  if (!stdin.isTTY || !stderr.isTTY) return null
  return async (asked) => {
    const { promptOnTerminal } = await import('./prompt-on-terminal.ts')
    return promptOnTerminal({ input: stdin, output: stderr }, asked)
  }
}
