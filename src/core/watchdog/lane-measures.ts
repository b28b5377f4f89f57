import type { ConnectionId, Instant } from '../ids.ts'
import type { LaneMeasure, Watch, WatchedLane } from '../ports/watch.ts'

// Counting costs what there is to count: a lane with a thousand is counted at each look, one with a hundred thousand
// every five minutes.
const FRESH_PER_MESSAGE_MS = 3
const MOST_COUNTED = 1_000
const MOST_FORESEEN = 100_000

/** How much waits in lanes, counted no more often than somebody needs to know it. */
export class LaneMeasures {
  readonly #watch: Pick<Watch, 'measureLane'>
  readonly #known = new Map<ConnectionId, { readonly at: Instant; readonly measure: LaneMeasure }>()

  constructor({ watch }: { readonly watch: Pick<Watch, 'measureLane'> }) {
    this.#watch = watch
  }

  /** Whether messages may expire in it for what its owner has set. */
  isWorthForeseeing({ policy, state }: WatchedLane): boolean {
    return policy.leastGapMs + policy.gapJitterMs > 0 || policy.quietHours !== null || state === 'paused'
  }

  async measure(lane: WatchedLane, now: Instant): Promise<LaneMeasure> {
    const isForeseen = this.isWorthForeseeing(lane)
    const known = this.#known.get(lane.connectionId)
    const freshMs = (known?.measure.waiting ?? 0) * FRESH_PER_MESSAGE_MS
    if (known && now >= known.at && now - known.at < freshMs) return known.measure
    const measure = await this.#watch.measureLane(lane.connectionId, isForeseen ? MOST_FORESEEN : MOST_COUNTED)
    this.#known.set(lane.connectionId, { at: now, measure })
    return measure
  }

  keepOnly(lanes: { has(id: ConnectionId): boolean }): void {
    for (const id of this.#known.keys()) if (!lanes.has(id)) this.#known.delete(id)
  }
}
