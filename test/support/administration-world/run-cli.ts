import { readFile } from 'node:fs/promises'
import { KNOWN_CHANNELS, type OpenOnboarding } from '../../../src/channels/registry.ts'
import type { Environment } from '../../../src/cli/environment.ts'
import { run } from '../../../src/cli/run.ts'
import { readSettings, type Settings } from '../../../src/config/read-settings.ts'
import { createConnectionService } from '../../../src/connections/connection-service.ts'
import { createChannelExtras } from '../../../src/operations/channel-extras.ts'
import { verifyAdapter } from '../../../src/operations/verify-adapter/verify-adapter.ts'
import type { InboxEntry } from '../../../src/server/wiring/open-administration.ts'
import { createRecipientData } from '../../../src/server/wiring/recipient-data.ts'
import { createRecipientEntries } from '../../../src/server/wiring/recipient-hash.ts'
import { createAlarms } from '../../../src/storage/queries/alarms/alarms.ts'
import { createDeviceSessions } from '../../../src/storage/queries/connections/device-sessions.ts'
import { createLaneViews } from '../../../src/storage/queries/lanes/lane-views.ts'
import { createOverview } from '../../../src/storage/queries/overview/overview.ts'
import { createPeople } from '../../../src/storage/queries/people/people.ts'
import { createBlockLists } from '../../../src/storage/queries/recipients/block-lists.ts'
import { createWebhooks } from '../../../src/storage/queries/webhooks/webhooks.ts'
import { testSecrets } from '../secrets.ts'
import { AdministrationWorld } from './open-administration-world.ts'

export interface CliAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The command line inside this process, over a database in memory. */
export class CliWorld extends AdministrationWorld {
  environment: Record<string, string> = {}
  /** What commands read from stdin. */
  input = ''
  /** What a person types at the terminal, by the end of the question. Null: there is no terminal. */
  typed: Readonly<Record<string, string>> | null = null
  /** The questions that the person was asked. */
  questions: { question: string; isHidden: boolean }[] = []
  /** Whether the output goes to a terminal. */
  isTerminal = false
  onboardings: ReadonlyMap<string, OpenOnboarding> = new Map()
  inbox: InboxEntry[] = []
  /** Where the sandbox would keep its copies. */
  mediaFolder = '/nowhere'
  /** The calls that `send` made. */
  asked: { url: string; request: RequestInit }[] = []
  answer: () => Response = () => new Response('{}')
  /** Replaces npm when the packages of a channel are installed. */
  runNpm: (folder: string) => Promise<void> = async () => {
    throw new Error('This world has no npm')
  }
  /** What all commands have printed so far, running ones included. */
  printed = ''
  created: boolean[] = []
  served = 0
  /** The settings of the last call of `serve`. */
  servedWith: Settings | null = null
  #drawn = 0

  async cli(...args: readonly string[]): Promise<CliAnswer> {
    let stdout = ''
    let stderr = ''
    const outputs = {
      out: async (text: string) => {
        stdout += text
        this.printed += text
      },
      err: (text: string) => {
        stderr += text
      },
    }
    const code = await run(args, { ...this.#surroundings(), ...outputs })
    return { code, stdout, stderr }
  }

  /** What a command prints with --json. */
  async json<Answer = Record<string, unknown>>(...args: readonly string[]): Promise<Answer> {
    const { code, stdout, stderr } = await this.cli(...args, '--json')
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout) as Answer
  }

  #surroundings(): Omit<Environment, 'out' | 'err'> {
    return {
      heading: (text) => text,
      isTerminal: this.isTerminal,
      now: () => this.now,
      drawBytes: (count) => new Uint8Array(count).map((_, index) => index + this.#drawn++),
      readSettings: (commandLine = {}) => readSettings({ commandLine, environment: this.environment, envFile: {} }),
      openAdministration: async (_, { create }) => {
        this.created.push(create)
        return this.#session()
      },
      serve: async (settings) => {
        this.served += 1
        this.servedWith = settings
      },
      migrate: async () => ({ from: 0, to: 1 }),
      copy: async () => {
        throw new Error('This world has nothing to copy')
      },
      takeBackup: async () => {
        throw new Error('This world has nothing to back up')
      },
      restoreBackup: async () => {
        throw new Error('This world has nothing to restore')
      },
      openExtras: async () => createChannelExtras({ runNpm: this.runNpm }),
      // biome-ignore lint/correctness/useYield: there is nothing to examine
      async *examine() {
        throw new Error('This world has nothing to examine')
      },
      verify: async () => {
        throw new Error('This world has nothing to verify')
      },
      verifyAdapter,
      readInput: async () => this.input,
      readFile: (path) => readFile(path, 'utf8'),
      onInterrupt: () => () => {},
      ask: this.typed && (async (asked) => this.#type(asked)),
      fetch: async (url, request) => {
        this.asked.push({ url, request })
        return this.answer()
      },
      runAdapter: () => {
        throw new Error('This world runs no adapter')
      },
    }
  }

  #session() {
    const blockLists = createBlockLists(this.store)
    const recipientEntries = createRecipientEntries({ lists: blockLists, openSecrets: async () => testSecrets() })
    return {
      administration: this.administration,
      people: createPeople(this.store),
      webhooks: createWebhooks(this.store),
      webhookRanges: { allowed: [], refused: [] },
      lanes: createLaneViews(this.store),
      deviceSessions: createDeviceSessions(this.store),
      blockLists,
      alarms: createAlarms(this.store),
      overview: createOverview(this.store),
      findStorageError: async () => this.error,
      findHolder: () => this.holder,
      recipientEntries,
      recipientData: createRecipientData({
        store: this.store,
        entries: recipientEntries,
        mediaFolder: this.mediaFolder,
      }),
      hashPassword: async (password: string) => `hash of ${password}`,
      channels: KNOWN_CHANNELS,
      connectionService: createConnectionService({
        onboardings: this.onboardings,
        openSecrets: async () => testSecrets(),
        publicUrl: this.environment['NUNCIO_PUBLIC_URL'] ?? 'http://127.0.0.1:8080',
      }),
      inbox: () => this.#entries(),
      openKeyRing: async () => {
        throw new Error('This world has no key ring')
      },
      openSecrets: async () => testSecrets(),
      drawQr: async (_: string, text: string) => `[QR code of ${text}]\n`,
      close: async () => {},
    }
  }

  #type(asked: { readonly question: string; readonly isHidden: boolean }): string {
    this.questions.push(asked)
    const [, name = ''] = /(\w+)(?: \(not shown\))?: $/.exec(asked.question) ?? []
    return this.typed?.[name] ?? ''
  }

  async *#entries(): AsyncIterable<InboxEntry> {
    yield* this.inbox
  }
}
