import type { Logger } from 'pino'
import type { Clock } from '../../core/ports/clock.ts'

const LONGEST_DELAY_MS = 30_000

// A child that has served this long had no fault at its start.
const STEADY_AFTER_MS = 60_000

export interface ChildEvents {
  readonly serving: (url: string) => void
  /** It could not begin to serve, and ends. */
  readonly failed: (error: Error) => void
  /** It has ended. */
  readonly ended: (how: string) => void
}

export interface Child {
  /** Asks it to end in order. */
  stop(): void
  kill(): void
}

interface ProcessGroupParts {
  readonly count: number
  readonly startChild: (number: number, events: ChildEvents) => Child
  readonly clock: Clock
  readonly logger: Pick<Logger, 'warn' | 'info'>
}

interface Place {
  readonly number: number
  child: Child | null
  failure: Error | null
  servesSince: number | null
  earlierEndings: number
  cancelStart: () => void
}

/**
 * Several processes that serve together.
 *
 *   STARTING ── all serve ──▶ SERVING ── stop ──▶ STOPPING ── all have ended ──▶ done
 *       └── one ends ──▶ STOPPING, and `start` rejects with the reason of the first
 *
 * - A child that ends while all are STARTING would end again: the settings or the database are wrong for all of them.
 * - A child that ends while SERVING is started again, whatever it ended of.
 */
export class ProcessGroup {
  readonly #parts: ProcessGroupParts
  readonly #places: readonly Place[]
  readonly #begun = Promise.withResolvers<string | null>()
  readonly #ended = Promise.withResolvers<void>()
  #stage: 'starting' | 'serving' | 'stopping' = 'starting'
  #failure: Error | null = null

  constructor(parts: ProcessGroupParts) {
    this.#parts = parts
    this.#places = Array.from({ length: parts.count }, (_, index) => ({
      number: index + 1,
      child: null,
      failure: null,
      servesSince: null,
      earlierEndings: 0,
      cancelStart: () => {},
    }))
  }

  /** The address once all serve; null when they were stopped before. Rejects when one cannot, after all have ended. */
  async start(): Promise<string | null> {
    for (const place of this.#places) this.#begin(place)
    const url = await this.#begun.promise
    if (this.#failure) throw this.#failure
    return url
  }

  /** Whether all of them are to end, or have ended. */
  get isStopping(): boolean {
    return this.#stage === 'stopping'
  }

  /** Ends all in order and resolves once they have. Harmless twice. */
  stop(): Promise<void> {
    if (this.#stage !== 'stopping') this.#stopAll()
    return this.#ended.promise
  }

  /** Ends all at once, and resolves once they have. */
  kill(): Promise<void> {
    const ended = this.stop()
    for (const { child } of this.#places) child?.kill()
    return ended
  }

  #begin(place: Place): void {
    place.failure = null
    place.servesSince = null
    place.child = this.#parts.startChild(place.number, {
      serving: (url) => this.#serves(place, url),
      failed: (error) => {
        place.failure = error
      },
      ended: (how) => this.#ends(place, how),
    })
  }

  #serves(place: Place, url: string): void {
    place.servesSince = this.#parts.clock.monotonic()
    if (this.#stage === 'serving') this.#parts.logger.info({ process: place.number }, 'process.started')
    if (this.#stage !== 'starting' || this.#places.some(({ servesSince }) => servesSince === null)) return
    this.#stage = 'serving'
    this.#begun.resolve(url)
  }

  #ends(place: Place, how: string): void {
    place.child = null
    switch (this.#stage) {
      case 'starting':
        this.#failure = place.failure ?? new Error(`process ${place.number} ended while it was starting (${how})`)
        this.#stopAll()
        break
      case 'serving':
        this.#startAgain(place, how)
        break
      case 'stopping':
        this.#settle()
        break
    }
  }

  #startAgain(place: Place, how: string): void {
    const { clock, logger } = this.#parts
    if (place.servesSince !== null && clock.monotonic() - place.servesSince >= STEADY_AFTER_MS) place.earlierEndings = 0
    const againInMs = restartDelayMs(place.earlierEndings)
    place.earlierEndings += 1
    const cause = place.failure && { cause: place.failure.message }
    logger.warn({ process: place.number, how, ...cause, againInMs }, 'process.ended')
    place.cancelStart = clock.after(againInMs, () => this.#begin(place))
  }

  #stopAll(): void {
    this.#stage = 'stopping'
    for (const { child, cancelStart } of this.#places) {
      cancelStart()
      child?.stop()
    }
    this.#settle()
  }

  #settle(): void {
    if (this.#places.some(({ child }) => child !== null)) return
    this.#begun.resolve(null)
    this.#ended.resolve()
  }
}

/**
 * How long to wait before an ended process is started again, after this many other ends shortly before. At once the first time,
 * because most causes happen once. Then longer each time, because each start of a process that cannot run costs connections to
 * the database.
 */
function restartDelayMs(earlierEndings: number): number {
  return earlierEndings === 0 ? 0 : Math.min(LONGEST_DELAY_MS, 1_000 * 2 ** (earlierEndings - 1))
}
