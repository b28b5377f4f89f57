/**
 * An idempotency key is kept this long from the acceptance. Within it, `accept` of each engine answers the same
 * request again, and refuses another one under the key: `http/api/fingerprint.ts` says which requests are the same.
 */
export const IDEMPOTENCY_KEPT_MS = 24 * 3_600_000
