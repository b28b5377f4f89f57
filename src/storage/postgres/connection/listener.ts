import { Client } from 'pg'
import type { ConnectionId } from '../../../core/ids.ts'
import { clientConfig } from './client-config.ts'
import type { PgConnection } from './pg-connection.ts'

export const WAKE_CHANNEL = 'nuncio_wake'
export const CHANGE_CHANNEL = 'nuncio_change'

// Long enough to send a burst at once, short enough not to be noticed.
const LINGER_MS = 4
// A notification carries at most 8,000 bytes.
const MOST_BYTES = 7_900

const RECONNECT_FIRST_MS = 100
const RECONNECT_SLOWEST_MS = 5_000
// A connection that a firewall has dropped seems alive for ever, so it is checked regularly.
const ASK_EVERY_MS = 10_000
const ANSWER_WITHIN_MS = 5_000

interface ListenerOptions {
  /** A pooler in transaction mode cannot carry notifications: this must lead to the server itself. */
  readonly url: string
  readonly channels: readonly string[]
  readonly onNotice: (channel: string, payload: string) => void
  /** Called when it listens, for the first time or again. Earlier notifications may have been missed. */
  readonly onHearing: () => void
  readonly onError: (error: unknown) => void
}

/** Receives the notifications of other processes. It may miss some at any time: they only cut latency. */
export class Listener {
  readonly #options: ListenerOptions
  #client: Client | null = null
  #timer: NodeJS.Timeout | null = null
  #delayMs = RECONNECT_FIRST_MS
  #isClosed = false

  constructor(options: ListenerOptions) {
    this.#options = options
  }

  start(): void {
    void this.#connect()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    const client = this.#client
    this.#client = null
    await client?.end().catch(() => {})
  }

  async #connect(): Promise<void> {
    const { url, channels, onNotice, onHearing, onError } = this.#options
    const client = new Client({
      ...clientConfig(url, 'nuncio listener'),
      query_timeout: ANSWER_WITHIN_MS,
    })
    let isLost = false
    const lose = (error?: unknown) => {
      if (isLost) return
      isLost = true
      if (this.#client === client) this.#client = null
      if (this.#isClosed) return
      if (error) onError(error)
      void client.end().catch(() => {})
      this.#later(this.#delayMs, () => void this.#connect())
      this.#delayMs = Math.min(this.#delayMs * 2, RECONNECT_SLOWEST_MS)
    }
    client.on('error', lose)
    client.on('end', () => lose())
    client.on('notification', ({ channel, payload = '' }) => onNotice(channel, payload))
    try {
      await client.connect()
      for (const channel of channels) await client.query(`listen ${client.escapeIdentifier(channel)}`)
    } catch (error) {
      lose(error)
      return
    }
    if (this.#isClosed) {
      await client.end().catch(() => {})
      return
    }
    this.#client = client
    this.#delayMs = RECONNECT_FIRST_MS
    onHearing()
    this.#askNowAndThen(client, lose)
  }

  #askNowAndThen(client: Client, lose: (error?: unknown) => void): void {
    this.#later(ASK_EVERY_MS, () => {
      if (this.#client !== client) return
      client.query('select 1').then(() => this.#askNowAndThen(client, lose), lose)
    })
  }

  #later(delayMs: number, call: () => void): void {
    if (this.#isClosed) return
    this.#timer = setTimeout(call, delayMs)
    this.#timer.unref()
  }
}

/**
 * Notifies other processes of lanes with new messages. After the commit and apart from it: a notification inside would make all
 * commits of the installation wait for each other. When one is lost, the next poll finds the messages.
 */
export class WakeUpNotifier {
  readonly #pgConnection: PgConnection
  #pending = new Set<ConnectionId>()
  #isPlanned = false

  constructor(pgConnection: PgConnection) {
    this.#pgConnection = pgConnection
  }

  notify(ids: readonly ConnectionId[]): void {
    for (const id of ids) this.#pending.add(id)
    if (this.#isPlanned || this.#pending.size === 0) return
    this.#isPlanned = true
    setTimeout(() => void this.#send(), LINGER_MS)
  }

  async #send(): Promise<void> {
    const ids = [...this.#pending]
    this.#pending = new Set()
    const payloads = split(ids)
    await this.#pgConnection
      .query(`select pg_notify('${WAKE_CHANNEL}', payload) from unnest($1::text[]) payload`, [payloads])
      .catch(() => {})
    this.#isPlanned = false
    if (this.#pending.size > 0) this.notify([])
  }
}

export function readWake(payload: string): ConnectionId[] {
  return payload === '' ? [] : (payload.split(',') as ConnectionId[])
}

function split(ids: readonly string[]): string[] {
  const payloads: string[] = []
  let current = ''
  for (const id of ids) {
    if (current.length + id.length + 1 > MOST_BYTES) {
      payloads.push(current)
      current = ''
    }
    current = current === '' ? id : `${current},${id}`
  }
  return [...payloads, current]
}
