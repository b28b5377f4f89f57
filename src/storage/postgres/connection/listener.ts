import { Client } from 'pg'
import { clientConfig } from './client-config.ts'

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
  /** It has begun to hear, for the first time or again: what was said before may have been missed. */
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
