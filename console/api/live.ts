/** The status of an account's event stream. */
export interface LiveStatus {
  readonly state: 'live' | 'paused' | 'reconnecting'
  /** The time up to which the data on screen is current; only while reconnecting. */
  readonly dataAsOf: number | null
}

// Short losses, such as a restart of the service, end by themselves before they are worth showing.
const SHOW_AFTER_MS = 10_000
const CHANGES_AT_MOST_EVERY_MS = 1_000
const RECONNECT_AFTER_MS = 3_000

interface Listeners {
  readonly onChanged: () => void
  /** The session has ended: no events come before the next sign-in. */
  readonly onSignedOut: () => void
}

/**
 * One event stream for the whole tab. It only reports that something changed; the queries on screen then reload.
 *
 * - A page that is paused or hidden has no connection: it costs the server nothing, and a browser has only six for all tabs.
 * - When it is visible again, all that may have changed is reported as one change.
 */
export class LiveStream {
  readonly #address: string
  readonly #onChanged: () => void
  readonly #onSignedOut: () => void
  readonly #listeners = new Set<() => void>()
  #source: EventSource | null = null
  #status: LiveStatus = { state: 'live', dataAsOf: null }
  #lostAt: number | null = null
  #notifiedAt = 0
  #timers = new Set<ReturnType<typeof setTimeout>>()
  #isDue = false

  constructor(address: string, { onChanged, onSignedOut }: Listeners) {
    this.#address = address
    this.#onChanged = onChanged
    this.#onSignedOut = onSignedOut
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
      this.#become({ state: 'live', dataAsOf: null })
      this.#connect()
      this.#changed()
    } else {
      this.#disconnect()
      this.#become({ state: 'paused', dataAsOf: null })
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
    source.addEventListener('open', () => this.#connected())
    source.addEventListener('changed', () => this.#changed())
    source.addEventListener('signed-out', () => {
      this.stop()
      this.#onSignedOut()
    })
    source.addEventListener('error', () => this.#lost())
    this.#source = source
  }

  #disconnect(): void {
    this.#source?.close()
    this.#source = null
    this.#lostAt = null
    this.#isDue = false
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }

  #connected(): void {
    const wasAway = this.#lostAt !== null
    this.#lostAt = null
    this.#become({ state: 'live', dataAsOf: null })
    // Changes during the interruption were missed.
    if (wasAway) this.#changed()
  }

  #lost(): void {
    if (this.#lostAt === null) {
      const lostAt = Date.now()
      this.#lostAt = lostAt
      this.#later(SHOW_AFTER_MS, () => {
        if (this.#lostAt === lostAt) this.#become({ state: 'reconnecting', dataAsOf: lostAt })
      })
    }
    // The browser reconnects by itself, except after a refusal.
    if (this.#source?.readyState === EventSource.CLOSED) this.#later(RECONNECT_AFTER_MS, () => this.#reopen())
  }

  #reopen(): void {
    const lostAt = this.#lostAt
    const status = this.#status
    this.#connect()
    this.#lostAt = lostAt
    if (lostAt !== null && status.state === 'live') {
      this.#later(Math.max(0, lostAt + SHOW_AFTER_MS - Date.now()), () => {
        if (this.#lostAt === lostAt) this.#become({ state: 'reconnecting', dataAsOf: lostAt })
      })
    }
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
    this.#onChanged()
  }

  #later(delayMs: number, act: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      act()
    }, delayMs)
    this.#timers.add(timer)
  }

  #become(status: LiveStatus): void {
    const same = status.state === this.#status.state && status.dataAsOf === this.#status.dataAsOf
    if (same) return
    this.#status = status
    for (const listener of this.#listeners) listener()
  }
}
