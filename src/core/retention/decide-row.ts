import type { Instant } from '../ids.ts'

const DAY_MS = 86_400_000
// An unconfirmed message is kept this long for a person to resolve it.
const UNRESOLVED_KEPT_MS = 365 * DAY_MS
// People can see a message for at least this long after its end, however long it waited before.
const KEPT_AFTER_END_MS = DAY_MS
// A row from further in the future was accepted while the clock was wrong, so its age is unknown.
const CLOCK_SLACK_MS = DAY_MS

/** What decides whether a message or a request is old enough. */
interface AgingRow {
  readonly at: Instant
  /** Null while it is not finished. */
  readonly endedAt: Instant | null
  /** UNCONFIRMED and not resolved. */
  readonly isUnresolved: boolean
  /** Something that belongs to it is in another table and must be deleted first. */
  readonly isInUse: boolean
}

/**
 * `remove`: its time is over. `keep-back`: its time is over or unknown, but it must not go yet. `too-young`: neither it
 * nor what came after it is old enough.
 */
export type Result = 'remove' | 'keep-back' | 'too-young'

/** Decides whether a row is removed. Pure. An unfinished message never is. */
export function decideRow(row: AgingRow, { before, now }: { readonly before: Instant; readonly now: Instant }): Result {
  if (row.at > now + CLOCK_SLACK_MS) return 'keep-back'
  if (row.at >= before) return 'too-young'
  if (row.endedAt === null || row.endedAt > now - KEPT_AFTER_END_MS || row.isInUse) return 'keep-back'
  if (row.isUnresolved && row.at >= before - UNRESOLVED_KEPT_MS) return 'keep-back'
  return 'remove'
}
