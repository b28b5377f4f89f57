import { type Checkpoint, isLater, type Memory } from './checkpoint.ts'

/** What is known of a database besides what is in it. */
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
 * Whether what a replaced database knows is all that happened since the backup. One that was restored or put back itself
 * knows nothing of what was sent before: that nothing happened in it says nothing (G12). Pure.
 */
export function tellsAllSince({ holds, remembered }: KnownPast, replaced: Replaced): boolean {
  // Each time that it went back it was held by no person: by `restore`, or by the service that found it older.
  if (replaced.holds - holds !== replaced.placed || remembered === 'unreadable') return false
  return remembered === null || isLater({ ...replaced, server: remembered.server }, remembered)
}

/** Of two databases, how many holds the one knows more that people have placed. */
export function placedHolds(one: string, other: string): string {
  const placed = (schema: string) =>
    `(select count(*) from ${schema}.audit where action = 'hold.place' and actor <> 'restore')`
  return `${placed(one)} - ${placed(other)}`
}
