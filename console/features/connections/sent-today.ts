import { MOST_SENT_COUNTED, type SentCountView } from '../../../src/contract/console/connections.ts'

interface Asked {
  readonly data: { readonly items: readonly SentCountView[]; readonly isComplete: boolean } | undefined
  readonly isError: boolean
}

/** As many as the server counts at once; further down a list, counts matter less. */
export function idsToCount(connections: readonly string[]): string {
  return connections.slice(0, MOST_SENT_COUNTED).join(',')
}

/** The count of one connection. Undefined: not counted yet, or not asked for. Null: it could not be loaded. */
export function sentOf({ data, isError }: Asked, id: string): SentCountView | null | undefined {
  // The server replies with each connection that was asked for, so one that is not here is not known to have sent nothing.
  const count = data?.isComplete ? data.items.find(({ connectionId }) => connectionId === id) : undefined
  return count ?? (isError ? null : undefined)
}

/** The reader's last midnight. */
export function lastMidnight(): number {
  return new Date().setHours(0, 0, 0, 0)
}

// A timer for midnight itself would be late by as long as the machine slept.
const CHECKED_EVERY_MS = 60_000

/** Has the midnight checked again and again, so that a page left open begins a new day. Returns how to stop. */
export function followMidnight(check: () => void): () => void {
  const timer = setInterval(check, CHECKED_EVERY_MS)
  return () => clearInterval(timer)
}
