export interface FetchTiming {
  /** All look-ups of one name. */
  readonly dnsMs: number
  /** Connecting to one of a host's addresses; the TLS handshake then gets as long again. */
  readonly connectMs: number
  /** From the request to the end of the response's headers. */
  readonly headersMs: number
  /** The whole fetch gets the larger of this, and what the largest allowed file takes at `totalBytesPerSecond`. */
  readonly leastTotalMs: number
  readonly totalBytesPerSecond: number
  /** After `slowAfterMs` of body, every `slowWindowMs` must bring `slowBytesPerSecond` on average. */
  readonly slowBytesPerSecond: number
  readonly slowAfterMs: number
  readonly slowWindowMs: number
}

export const DEFAULT_TIMING: FetchTiming = {
  dnsMs: 5_000,
  connectMs: 5_000,
  headersMs: 10_000,
  leastTotalMs: 60_000,
  // 100 MB get 800 s, which is within the 15 min that one message may hold up its lane; 16 MB get 128 s. Higher would
  // fail callers behind an ordinary uplink, lower would let a crawling host occupy one of the few concurrent downloads.
  totalBytesPerSecond: 128 * 1024,
  // The slowest phone link reaches this. It ends slow transfers long before the total time does.
  slowBytesPerSecond: 4 * 1024,
  slowAfterMs: 10_000,
  slowWindowMs: 10_000,
}

/** Time limit of a whole fetch, for a type whose files may have `capBytes`. */
export function totalTimeMs(capBytes: number, timing: FetchTiming): number {
  return Math.max(timing.leastTotalMs, Math.ceil((capBytes / timing.totalBytesPerSecond) * 1000))
}
