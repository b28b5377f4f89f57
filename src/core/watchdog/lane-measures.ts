import type { ConnectionId, Instant } from '../ids.ts'
import type { Clock } from '../ports/clock.ts'
import type { LaneMeasure, Watch, WatchedLane } from '../ports/watch.ts'
import { needsCount } from './predict-expiry.ts'

// The cost of counting grows with the lane: a lane with a thousand is counted at each check, one with five thousand once a
// minute, one with a hundred thousand every quarter of an hour.
const FRESH_PER_MESSAGE_MS = 10
const MOST_COUNTED = 1_000
const MOST_FORESEEN = 100_000
// Asked for one by one, a thousand lanes with little in them took the database 0.4 s. All at once they would block others
// waiting if each has a hundred thousand.
const MEASURED_AT_ONCE = 20

interface LaneMeasuresParts {
  readonly watch: Pick<Watch, 'measureLanes'>
  readonly clock: Pick<Clock, 'monotonic'>
  /** Gets the milliseconds that a part of the counting took. The counting goes on when this resolves. */
  readonly throttle: (tookMs: number) => Promise<void>
}

/** How much waits in lanes, counted only as often as needed. */
export class LaneMeasures {
  readonly #parts: LaneMeasuresParts
  readonly #known = new Map<ConnectionId, { readonly at: Instant; readonly measure: LaneMeasure }>()

  constructor(parts: LaneMeasuresParts) {
    this.#parts = parts
  }

  /** Measures those lanes in which messages may expire because of their owner's settings. */
  predict(lanes: readonly WatchedLane[], now: Instant): Promise<ReadonlyMap<ConnectionId, LaneMeasure>> {
    return this.measure(
      lanes.filter((lane) => needsCount(lane, now)),
      now,
    )
  }

  /** Measures each of these lanes. */
  async measure(lanes: readonly WatchedLane[], now: Instant): Promise<ReadonlyMap<ConnectionId, LaneMeasure>> {
    const { watch, clock, throttle } = this.#parts
    const stale = lanes.filter(({ connectionId }) => !this.#isFresh(connectionId, now))
    for (let at = 0; at < stale.length; at += MEASURED_AT_ONCE) {
      const wanted = stale.slice(at, at + MEASURED_AT_ONCE).map((lane) => ({
        id: lane.connectionId,
        most: needsCount(lane, now) ? MOST_FORESEEN : MOST_COUNTED,
      }))
      const beganMonotonic = clock.monotonic()
      for (const [id, measure] of await watch.measureLanes(wanted)) this.#known.set(id, { at: now, measure })
      await throttle(clock.monotonic() - beganMonotonic)
    }
    return new Map(
      lanes.flatMap(({ connectionId }) => {
        const known = this.#known.get(connectionId)
        return known ? [[connectionId, known.measure]] : []
      }),
    )
  }

  keepOnly(lanes: { has(id: ConnectionId): boolean }): void {
    for (const id of this.#known.keys()) if (!lanes.has(id)) this.#known.delete(id)
  }

  #isFresh(id: ConnectionId, now: Instant): boolean {
    const known = this.#known.get(id)
    return known !== undefined && now >= known.at && now - known.at < known.measure.waiting * FRESH_PER_MESSAGE_MS
  }
}
