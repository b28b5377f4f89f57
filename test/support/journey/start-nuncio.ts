import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { onTestFinished } from 'vitest'
import { readSettings, type Settings } from '../../../src/config/read-settings.ts'
import type { MessageTimeline, MessageView } from '../../../src/core/ports/administration.ts'
import type { Channel } from '../../../src/core/ports/channel.ts'
import { createLogger } from '../../../src/observability/create-logger.ts'
import { Application } from '../../../src/server/application.ts'
import {
  type AdministrationSession,
  type InboxEntry,
  openAdministration,
} from '../../../src/server/wiring/open-administration.ts'
import { LoadAwareDeadline } from '../black-box/load-aware-deadline.ts'
import { pauseMs } from '../black-box/wait-until.ts'

export const SENDER = '15550001000'
export const ENDPOINT = '/chat/api/v1/public/message/send'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly body: {
    readonly success: boolean
    readonly code: string
    readonly name: string
    readonly data: {
      readonly state?: string
      readonly errors?: readonly { field: string | null; code: string; message: string }[]
    }
  }
  /** The message's id; empty when there is none. */
  readonly messageId: string
}

/** A running service in this process, with what a test needs to use and check it. */
export interface Journey {
  readonly url: string
  readonly token: string
  readonly dataDir: string
  readonly database: Settings['database']
  /** The operator's second process, in which all commands run. */
  readonly operator: AdministrationSession
  post(body: unknown, headers?: Record<string, string>): Promise<Reply>
  /** Sends a text from the first connection. */
  text(to: string, text: string, headers?: Record<string, string>): Promise<Reply>
  inbox(): Promise<InboxEntry[]>
  timeline(messageId: string): Promise<MessageTimeline>
  /** Waits until the message is in one of these states. Fails after half a minute, and reports its last state. */
  reaches(messageId: string, ...states: MessageView['state'][]): Promise<MessageTimeline>
  stop(): Promise<void>
  /** Stops the service and starts a new one on the same data. */
  restart(): Promise<Journey>
}

export interface JourneyOptions {
  readonly settings?: Record<string, string>
  readonly channels?: readonly Channel[]
  readonly dataDir?: string
  readonly token?: string
  /** Called with each line of the log. Left out: nothing is logged. */
  readonly onLog?: (line: string) => void
  /** `info` when left out. */
  readonly logLevel?: 'debug' | 'info'
}

export async function startNuncio(options: JourneyOptions = {}): Promise<Journey> {
  const dataDir = options.dataDir ?? temporaryFolder()
  const settings = settingsFor(dataDir, options.settings ?? {})
  const nuncio = new Application({
    settings,
    logger: loggerFor(options),
    onBroken: (error) => {
      throw error
    },
    channels: options.channels ?? [],
  })
  const { url, first } = await nuncio.start()
  const operator = await openAdministration(settings, { create: false })
  const token = options.token ?? first?.token ?? ''
  const stop = async () => {
    await operator.close()
    await nuncio.stop()
  }
  onTestFinished(stop)
  const post: Journey['post'] = (body, headers = {}) => postTo(url, token, { body, headers })
  const timeline: Journey['timeline'] = (id) => operator.administration.explainMessage(id as never)
  return {
    url,
    token,
    dataDir,
    database: settings.database,
    operator,
    post,
    text: (to, text, headers) => post({ from: SENDER, to, message: { type: 'message', message: text } }, headers),
    inbox: () => collect(operator.inbox({ accountId: null, number: null, limit: null })),
    timeline,
    reaches: (id, ...states) => waitForState(() => timeline(id), states),
    stop,
    restart: async () => {
      await stop()
      return startNuncio({ ...options, dataDir, token })
    },
  }
}

function loggerFor({ onLog, logLevel = 'info' }: JourneyOptions): Logger {
  return onLog ? createLogger({ logLevel }, { destination: { write: onLog } }) : createLogger({ logLevel: 'silent' })
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-journey-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function settingsFor(dataDir: string, given: Record<string, string>): Settings {
  const environment = { NUNCIO_DATA_DIR: dataDir, NUNCIO_PORT: '0', ...given }
  const { settings, problems } = readSettings({ environment, envFile: {} })
  if (!settings) throw new Error(problems.map(({ sentence }) => sentence).join('\n'))
  return settings
}

export async function postTo(
  url: string,
  token: string,
  { body, headers }: { body: unknown; headers: Record<string, string> },
): Promise<Reply> {
  const response = await fetch(url + ENDPOINT, {
    method: 'POST',
    headers: { 'x-api-key': token, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Reply['body'],
    messageId: response.headers.get('x-message-id') ?? '',
  }
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

async function waitForState(read: () => Promise<MessageTimeline>, states: readonly string[]): Promise<MessageTimeline> {
  const startedAt = performance.now()
  const deadline = new LoadAwareDeadline(30_000)
  for (;;) {
    const timeline = await read()
    if (states.includes(timeline.message.state)) return timeline
    if (deadline.isOver()) {
      throw new Error(
        `the message is ${timeline.message.state} (${timeline.message.reason ?? 'no reason'}) and not ${states.join(' or ')}`,
      )
    }
    await setTimeout(pauseMs(performance.now() - startedAt))
  }
}
