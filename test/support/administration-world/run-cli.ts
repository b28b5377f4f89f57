import type { InboxEntry } from '../../../src/app/open-administration.ts'
import { parseSandboxSettings } from '../../../src/channels/sandbox/settings.ts'
import { run } from '../../../src/cli/run.ts'
import type { Surroundings } from '../../../src/cli/surroundings.ts'
import { readSettings, type Settings } from '../../../src/config/read-settings.ts'
import { createPeople } from '../../../src/storage/shared/people/people.ts'
import { AdministrationWorld } from './open-administration-world.ts'

export interface CliAnswer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The command line inside this process, over a database in memory. */
export class CliWorld extends AdministrationWorld {
  environment: Record<string, string> = {}
  /** What comes in by stdin. */
  input = ''
  inbox: InboxEntry[] = []
  /** What `send` asked for, and what it is answered. */
  asked: { url: string; request: RequestInit }[] = []
  answer: () => Response = () => new Response('{}')
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

  #surroundings(): Omit<Surroundings, 'out' | 'err'> {
    return {
      heading: (text) => text,
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
      readInput: async () => this.input,
      fetch: async (url, request) => {
        this.asked.push({ url, request })
        return this.answer()
      },
    }
  }

  #session() {
    return {
      administration: this.administration,
      people: createPeople(this.store),
      hashPassword: async (password: string) => `hash of ${password}`,
      channels: ['sandbox'],
      parseChannelSettings: (_: string, pairs: Readonly<Record<string, string>>) => ({
        ...parseSandboxSettings(pairs),
      }),
      inbox: () => this.#entries(),
      close: async () => {},
    }
  }

  async *#entries(): AsyncIterable<InboxEntry> {
    yield* this.inbox
  }
}
