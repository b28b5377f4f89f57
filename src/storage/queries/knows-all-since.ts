import { type Checkpoint, isLater, type Memory } from './checkpoint.ts'

/** Facts about a database that are stored outside it. */
export interface KnownPast {
  /** How often all lanes had been held when the backup was made. */
  readonly holds: number
  /** What this machine remembers. */
  readonly remembered: Memory
}

/** What a database that is replaced says of itself. */
export interface Replaced extends Pick<Checkpoint, 'installation' | 'mark' | 'holds'> {
  /** Holds since the backup that people have placed: its audit log has them, and has no others. */
  readonly placed: number
}

/**
 * Whether a replaced database knows everything that happened since the backup. A database that was itself restored or rolled
 * back does not know the messages sent before, so it proves nothing (G12). Pure.
 */
export function knowsAllSince({ holds, remembered }: KnownPast, replaced: Replaced): boolean {
  // After each rollback the hold was placed by no person, but by `restore` or by the service that detected the older state.
  if (replaced.holds - holds !== replaced.placed || remembered === 'unreadable') return false
  return remembered === null || isLater({ ...replaced, server: remembered.server }, remembered)
}

/** Of two databases, how many holds the one knows more that people have placed. */
export function placedHolds(one: string, other: string): string {
  const placed = (schema: string) =>
    `(select count(*) from ${schema}.audit where action = 'hold.place' and actor <> 'restore')`
  return `${placed(one)} - ${placed(other)}`
}
