import { ALIVE, ALIVE_EVERY_MS, CHANGED, SIGNED_OUT } from '../../src/contract/console/stream-events.ts'

/** The status of an account's event stream. */
export interface LiveStatus {
  /** `reconnecting`: the stream is lost. `offline`: it is lost, and the service answers no request either. */
  readonly state: 'live' | 'paused' | 'reconnecting' | 'offline'
  /** When the stream was lost; only while it is. */
  readonly lostAt: number | null
}

const CHANGES_AT_MOST_EVERY_MS = 1_000
const RECONNECT_AFTER_MS = 3_000
// Two signs of life may be late or missing.
const SILENT_AFTER_MS = 2.5 * ALIVE_EVERY_MS

interface Listeners {
  readonly onChanged: () => void
  /** The session has ended: no events come before the next sign-in. */
  readonly onSignedOut: () => void
  /** Whether the service answers a request. */
  readonly answers: () => Promise<boolean>
}

/**
 * One event stream for the whole tab. It only reports that something changed; the queries on screen then reload.
 *
 * - A page that is paused or hidden has no connection: it costs the server nothing, and a browser has only six for all tabs.
 * - When it is visible again, all that may have changed is reported as one change.
 */
export class LiveStream {
  readonly #address: string
  readonly #given: Listeners
  readonly #listeners = new Set<() => void>()
  #source: EventSource | null = null
  #status: LiveStatus = { state: 'live', lostAt: null }
  #notifiedAt = 0
  #silentSince = 0
  #silence: ReturnType<typeof setTimeout> | undefined
  #timers = new Set<ReturnType<typeof setTimeout>>()
  #isDue = false

  constructor(address: string, given: Listeners) {
    this.#address = address
    this.#given = given
  }

  start(): void {
    document.addEventListener('visibilitychange', this.#onVisibility)
    if (this.#status.state !== 'paused' && !document.hidden) this.#connect()
  }

  stop(): void {
    document.removeEventListener('visibilitychange', this.#onVisibility)
    this.#disconnect()
  }

  toggle(): void {
    if (this.#status.state === 'paused') {
      this.#become({ state: 'live', lostAt: null })
      this.#connect()
      this.#changed()
    } else {
      this.#disconnect()
      this.#become({ state: 'paused', lostAt: null })
    }
  }

  // For useSyncExternalStore, which calls them without their object.
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly status = (): LiveStatus => this.#status

  #connect(): void {
    this.#disconnect()
    const source = new EventSource(this.#address)
    source.addEventListener(ALIVE, () => this.#heard())
    source.addEventListener(CHANGED, () => {
      this.#heard()
      this.#changed()
    })
    source.addEventListener(SIGNED_OUT, () => {
      this.stop()
      this.#given.onSignedOut()
    })
    source.addEventListener('error', () => this.#lost())
    this.#source = source
    this.#awaitSign()
  }

  #disconnect(): void {
    this.#source?.close()
    this.#source = null
    this.#isDue = false
    clearTimeout(this.#silence)
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  #heard(): void {
    const wasAway = this.#status.lostAt !== null
    this.#awaitSign()
    this.#become({ state: 'live', lostAt: null })
    // Changes during the interruption were missed.
    if (wasAway) this.#changed()
  }

  #awaitSign(): void {
    clearTimeout(this.#silence)
    this.#silentSince = Date.now()
    this.#silence = setTimeout(() => this.#fellSilent(), SILENT_AFTER_MS)
  }

  /** A service that stands still keeps its connections open, and a proxy that collects events passes none on. */
  #fellSilent(): void {
    const lostAt = this.#status.lostAt ?? this.#silentSince
    if (this.#status.lostAt === null) this.#become({ state: 'reconnecting', lostAt })
    void this.#check(lostAt)
    this.#connect()
  }

  #lost(): void {
    // Short losses, such as a restart of the service, end with the first attempt to reconnect.
    if (this.#status.lostAt === null) this.#become({ state: 'reconnecting', lostAt: Date.now() })
    else void this.#check(this.#status.lostAt)
    // The browser reconnects by itself, except after a refusal.
    if (this.#source?.readyState === EventSource.CLOSED) this.#later(RECONNECT_AFTER_MS, () => this.#connect())
  }

  /** A stream can be lost alone, such as to a proxy that allows none. */
  async #check(lostAt: number): Promise<void> {
    const answers = await this.#given.answers()
    if (this.#status.lostAt === lostAt) this.#become({ state: answers ? 'reconnecting' : 'offline', lostAt })
  }

  #changed(): void {
    if (this.#isDue) return
    this.#isDue = true
    this.#later(Math.max(0, this.#notifiedAt + CHANGES_AT_MOST_EVERY_MS - Date.now()), () => this.#notify())
  }

  readonly #onVisibility = () => {
    if (document.hidden) return this.#disconnect()
    if (this.#source !== null || this.#status.state === 'paused') return
    this.#connect()
    this.#changed()
  }

  #notify(): void {
    this.#isDue = false
    this.#notifiedAt = Date.now()
    this.#given.onChanged()
  }

  #later(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      act()
    }, delayMs)
    this.#timers.add(timer)
  }

  #become(status: LiveStatus): void {
    const same = status.state === this.#status.state && status.lostAt === this.#status.lostAt
    if (same) return
    this.#status = status
    for (const listener of this.#listeners) listener()
  }
}
