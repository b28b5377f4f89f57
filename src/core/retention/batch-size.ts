const LEAST_ROWS = 20
// Half of it at once when it took too long, a quarter more when it was quick: as fast as the disk, and never for long.
const SMALLER = 0.5
const LARGER = 1.25

/** How many rows the next step should read, so that it takes about its aim. */
export class BatchSize {
  readonly #aimMs: number
  readonly #mostRows: number
  #rows: number

  constructor({ aimMs, mostRows }: { readonly aimMs: number; readonly mostRows: number }) {
    this.#aimMs = aimMs
    this.#mostRows = mostRows
    this.#rows = Math.min(2 * LEAST_ROWS, mostRows)
  }

  get rows(): number {
    return Math.round(this.#rows)
  }

  learn(tookMs: number): void {
    const wanted = this.#rows * (tookMs > this.#aimMs ? SMALLER : tookMs < this.#aimMs / 2 ? LARGER : 1)
    this.#rows = Math.min(this.#mostRows, Math.max(LEAST_ROWS, wanted))
  }
}
