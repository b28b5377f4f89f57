const STEP_MS = 0.01
const LONGEST_MS = 5_000

/** Counts times in steps of 10 µs: cheap enough to run during a measurement, and exact enough for any percentile. */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(LONGEST_MS / STEP_MS + 1)
  #total = 0
  #longestMs = 0

  add(tookMs: number): void {
    const step = Math.min(this.#counts.length - 1, Math.max(0, Math.floor(tookMs / STEP_MS)))
    this.#counts[step] = (this.#counts[step] ?? 0) + 1
    this.#total += 1
    if (tookMs > this.#longestMs) this.#longestMs = tookMs
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
    this.#longestMs = 0
  }

  get total(): number {
    return this.#total
  }

  get longestMs(): number {
    return this.#longestMs
  }

  /** `share` is in [0, 1]. Returns 0 if nothing was counted. */
  percentileMs(share: number): number {
    const wanted = Math.ceil(this.#total * share)
    let seen = 0
    for (const [step, count] of this.#counts.entries()) {
      seen += count
      if (seen >= wanted && seen > 0) return Math.round((step + 1) * STEP_MS * 100) / 100
    }
    return 0
  }
}
