/** What one caller may cost us. Tests make the times shorter. */
export interface HttpLimits {
  /** All headers of a request must have come by then. */
  readonly headersTimeoutMs: number
  /** The whole request must have come by then. */
  readonly requestTimeoutMs: number
  /** How often the two above are looked at, so how late they may be noticed. */
  readonly checkIntervalMs: number
  /** How long an idle connection is kept; null: as `front-door.ts` finds right. */
  readonly keepAliveMs: number | null
  readonly maxConnections: number
  /** Of one address that is no proxy of the operator's, or of one network of 2^64 of them. */
  readonly maxConnectionsOfCaller: number
  /** Request line and headers together. */
  readonly maxHeaderBytes: number
  /** The same for pages that browsers open: a proxy that signs people on may set cookies of several KiB for the host. */
  readonly maxBrowserHeaderBytes: number
  readonly maxHeaders: number
  /** How long a reply that ends the connection goes on reading what the caller still sends. */
  readonly lingerMs: number
  /**
   * How long a request waits for one answer of storage before it is answered with 503. A good one waits for one only,
   * at most for three: its token, its idempotency key if a limit would refuse it, and the commit.
   */
  readonly storageWaitMs: number
  /** In how much time a little more of a callback's body must have come; see `callbacks/body-reading.ts`. */
  readonly callbackStallMs: number
  /** How long nothing of a reply may be taken before its connection is ended. It may last up to half as long again. */
  readonly replyStallMs: number
  /** How long `close` waits for open requests before it cuts them off. */
  readonly closeGraceMs: number
}

// Each is far more than an honest request needs, and far less than what makes an attack by slow or huge requests
// worth while. A connection costs about 30 KB, so that 2,000 of them cost 60 MB.
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headersTimeoutMs: 5000,
  requestTimeoutMs: 10_000,
  checkIntervalMs: 1000,
  keepAliveMs: null,
  maxConnections: 2000,
  // Half: however slow or lost the connections of one caller are, the others get in.
  maxConnectionsOfCaller: 1000,
  maxHeaderBytes: 8192,
  maxBrowserHeaderBytes: 16_384,
  maxHeaders: 64,
  lingerMs: 1000,
  storageWaitMs: 5000,
  callbackStallMs: 2000,
  replyStallMs: 60_000,
  closeGraceMs: 10_000,
}

/** The contract's limit, not a setting: the OpenAPI document names it. */
export const MAX_BODY_BYTES = 65_536
