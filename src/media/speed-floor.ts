interface SpeedRule {
  readonly bytesPerSecond: number
  /** Speed does not count before this time has passed, because connections start slowly. */
  readonly afterMs: number
  /** The window over which the speed is averaged. */
  readonly windowMs: number
}

/**
 * Detects transfers that are too slow. Pure: the caller passes the time and the count.
 *
 * The speed is that of the last window, not of the whole transfer: a host that sends much at first could otherwise hold
 * the connection open for hours with one byte a second.
 */
export class SpeedFloor {
  readonly #rule: SpeedRule
  readonly #startedAtMs: number
  #samples: { readonly atMs: number; readonly bytes: number }[]

  constructor(rule: SpeedRule, nowMs: number) {
    this.#rule = rule
    this.#startedAtMs = nowMs
    this.#samples = [{ atMs: nowMs, bytes: 0 }]
  }

  /** Restarts the window, after a time in which we did not read. */
  restart(nowMs: number, receivedBytes: number): void {
    this.#samples = [{ atMs: nowMs, bytes: receivedBytes }]
  }

  /** The bytes per second of the last window when they are too few, else null. */
  findCrawl(nowMs: number, receivedBytes: number): number | null {
    this.#samples.push({ atMs: nowMs, bytes: receivedBytes })
    const windowStartsAtMs = nowMs - this.#rule.windowMs
    while (this.#samples[1] && this.#samples[1].atMs <= windowStartsAtMs) this.#samples.shift()
    const oldest = this.#samples[0]
    if (!oldest || oldest.atMs > windowStartsAtMs || nowMs - this.#startedAtMs < this.#rule.afterMs) return null
    const bytesPerSecond = ((receivedBytes - oldest.bytes) / (nowMs - oldest.atMs)) * 1000
    return bytesPerSecond < this.#rule.bytesPerSecond ? Math.floor(bytesPerSecond) : null
  }
}
