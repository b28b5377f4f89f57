/** Limits for callers. Tests make the times shorter. */
export interface HttpLimits {
  /** All headers of a request must have come by then. */
  readonly headersTimeoutMs: number
  /** The whole request must have come by then. */
  readonly requestTimeoutMs: number
  /** How often the two timeouts above are checked, and so how late they may take effect. */
  readonly checkIntervalMs: number
  /** How long an idle connection is kept; null: the default of `listener.ts`. */
  readonly keepAliveMs: number | null
  readonly maxConnections: number
  /** Per address, or per IPv6 network of 2^64 addresses. Proxies of the operator have no such limit. */
  readonly maxConnectionsOfCaller: number
  /** Request line and headers together. */
  readonly maxHeaderBytes: number
  /** The same for pages that browsers open: a single sign-on proxy may set cookies of several KiB for the host. */
  readonly maxBrowserHeaderBytes: number
  readonly maxHeaders: number
  /** How long the server reads on after a reply that ends the connection. */
  readonly lingerMs: number
  /**
   * How long a request waits for one answer of storage before it is answered with 503. Most requests wait once, at most
   * three times: for the token, for the idempotency key if a limit would refuse the request, and for the commit.
   */
  readonly storageWaitMs: number
  /** How long a callback's body may make too little progress; see `callbacks/body-reading.ts`. */
  readonly callbackStallMs: number
  /** How long a caller may read nothing of a reply before its connection is ended. It may last up to half as long again. */
  readonly replyStallMs: number
  /** How long `close` waits for open requests before it cuts them off. */
  readonly closeGraceMs: number
}

// Each is far more than an honest request needs, and too little for an attack by slow or huge requests. A connection
// costs about 30 KB, so 2,000 of them cost 60 MB.
export const DEFAULT_HTTP_LIMITS: HttpLimits = {
  headersTimeoutMs: 5000,
  requestTimeoutMs: 10_000,
  checkIntervalMs: 1000,
  keepAliveMs: null,
  maxConnections: 2000,
  // Half: however many slow or dead connections one caller has, other callers still get in.
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
