/** An idempotency key is kept this long from the acceptance (decisions.md). */
export const IDEMPOTENCY_KEPT_MS = 24 * 3_600_000
