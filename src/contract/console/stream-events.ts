/** Sent when something was committed, so the data on the screen may have changed. */
export const CHANGED = 'changed'
/** Sent when the session has ended: do not open the stream again before the next sign-in. */
export const SIGNED_OUT = 'signed-out'
/** Sent at once and then regularly: without it, a service that stands still seems idle. */
export const ALIVE = 'alive'
export const ALIVE_EVERY_MS = 5_000
