import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { Reader, Store } from '../store.ts'
import { countHour } from './count-hour.ts'
import { type Counted, DAY_MS, firstOpen, HOUR_MS, hourOf, nextHour } from './hours.ts'

// The rest after a count, in times of its duration. While a person watches, counting takes at most a tenth of one processor;
// otherwise it hardly slows sending.
const REST_TIMES_WATCHED = 10
const REST_TIMES = 40
// One hour is counted in one transaction, and PostgreSQL ends a transaction that is idle for long. The remaining rest
// follows after the hour.
const LONGEST_REST_WITHIN_MS = 2_000
const WATCHED_FOR_MS = 60_000
const CHECK_EVERY_MS = 5_000
const FIND_MISSING_EVERY_MS = 600_000

interface CounterOptions {
  /** Reports an error; the count is retried. */
  readonly onFault?: (error: unknown) => void
  /** Returns early when the signal comes. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>
}

/**
 * Counts the results of messages by the hour in the background, so that the overview does not wait for it.
 *
 *   CHECKING ── an hour is due ──▶ COUNTING ── done ──▶ RESTING (ten to forty times as long) ──▶ CHECKING
 *      └── none is due: checks again in some seconds, or as soon as a person watches
 *
 * - One counter runs on a database at a time: a second one checks again later.
 * - The database holds what was counted and when, so nothing is lost with the process.
 */
export class TallyCounter {
  readonly #store: Store
  readonly #onFault: (error: unknown) => void
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<void>
  #stopping: AbortController | null = null
  #waking = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #watchedUntil: Instant = 0
  #last: Instant | null = null
  #findMissingAt: Instant = 0

  constructor(store: Store, { onFault = () => {}, wait = waitFor }: CounterOptions = {}) {
    this.#store = store
    this.#onFault = onFault
    this.#wait = wait
  }

  /** Harmless while it runs. */
  start(): void {
    if (this.#stopping) return
    this.#stopping = new AbortController()
    this.#running = this.#run(this.#stopping.signal)
  }

  /** Resolves when nothing is counted any more. Harmless twice, and before the start. */
  async stop(): Promise<void> {
    this.#stopping?.abort()
    this.#stopping = null
    await this.#running
  }

  /** A person is watching the figures. */
  noteWatched(): void {
    const now = this.#store.now()
    const wasWatched = this.#isWatched(now)
    this.#watchedUntil = now + WATCHED_FOR_MS
    if (!wasWatched) this.#waking.abort()
  }

  #isWatched(now = this.#store.now()): boolean {
    return now < this.#watchedUntil
  }

  #restAfter(tookMs: number): number {
    return tookMs * (this.#isWatched() ? REST_TIMES_WATCHED : REST_TIMES)
  }

  /** Counts the hour that needs it most. False: none does, or another process is counting. */
  async countNext(signal: AbortSignal = new AbortController().signal): Promise<boolean> {
    const { database, engine } = this.#store
    const begunAt = performance.now()
    const rested = { asked: 0, tookMs: 0 }
    let hour: Instant | null = null
    this.#waking = new AbortController()
    const rest = async (restMs: number, until = signal): Promise<void> => {
      const from = performance.now()
      await this.#wait(restMs, until)
      rested.asked += restMs
      rested.tookMs += performance.now() - from
    }
    const restWithin = async (tookMs: number): Promise<boolean> => {
      await rest(Math.min(this.#restAfter(tookMs), LONGEST_REST_WITHIN_MS))
      return !signal.aborted
    }
    const isAlone = await engine.overview.runAlone(database, async (tables) => {
      const now = this.#store.now()
      hour = nextHour(await this.#read(tables, now), { now, isWatched: this.#isWatched(now), last: this.#last })
      if (hour !== null) await countHour({ tables, engine }, { hour, now, rest: restWithin })
    })
    this.#last = hour
    const tookMs = performance.now() - begunAt - rested.tookMs
    if (hour !== null) await rest(Math.max(0, this.#restAfter(tookMs) - rested.asked), this.#orWatched(signal))
    return isAlone && hour !== null
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hasCounted = await this.countNext(signal).catch((error: unknown) => {
        this.#onFault(error)
        return false
      })
      if (hasCounted || signal.aborted) continue
      await this.#wait(CHECK_EVERY_MS, this.#orWatched(signal))
    }
  }

  /** Also aborts when a person has begun to watch since the last count began. */
  #orWatched(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#waking.signal])
  }

  async #read(tables: Reader, now: Instant): Promise<Counted> {
    const oldest = await tables
      .selectFrom('account')
      .select(({ fn }) => fn.min('created_at').as('at'))
      .executeTakeFirst()
    const from = firstOpen({ oldest: oldest?.at ?? now }, now)
    const waiting = await tables
      .selectFrom('tally')
      .select('hour')
      .distinct()
      // Literals, because a partial index has exactly these values.
      .where('state', '=', sql.lit('waiting'))
      .where('connection_id', '=', sql.lit(''))
      .execute()
    const late = waiting.map(({ hour }) => hour)
    const hours = await tables
      .selectFrom('tally_hour')
      .select(['hour', 'counted_at'])
      .where((where) => where.or([where('hour', '>=', from), where('hour', 'in', [0, ...late])]))
      .execute()
    return {
      at: new Map(hours.map((row) => [row.hour, row.counted_at])),
      waiting: new Set(late),
      missing: await this.#findMissing(tables, { oldest: oldest?.at ?? now, from, now }),
      oldest: oldest?.at ?? now,
    }
  }

  /** The newest hour before `from` that was never counted, after a long stop. */
  async #findMissing(
    tables: Reader,
    { oldest, from, now }: { oldest: Instant; from: Instant; now: Instant },
  ): Promise<Instant | null> {
    if (now < this.#findMissingAt) return null
    let upper = from
    while (upper > hourOf(oldest)) {
      const lower = Math.max(hourOf(oldest), upper - 30 * DAY_MS)
      const rows = await tables
        .selectFrom('tally_hour')
        .select('hour')
        .where('hour', '>=', lower)
        .where('hour', '<', upper)
        .execute()
      const counted = new Set(rows.map(({ hour }) => hour))
      for (let hour = upper - HOUR_MS; hour >= lower; hour -= HOUR_MS) if (!counted.has(hour)) return hour
      upper = lower
    }
    this.#findMissingAt = now + FIND_MISSING_EVERY_MS
    return null
  }
}

async function waitFor(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
