import type { ConnectionId, Instant } from '../ids.ts'

/** What a channel stored of one of its connections. */
export interface MemoryEntry {
  /**
   * Grows with every entry. Entries of a channel and kind are committed in this order, also by several workers, so a reader
   * that continues after the last one misses none.
   */
  readonly position: number
  readonly connectionId: ConnectionId
  readonly key: string
  /** Text as the channel wrote it, usually JSON. */
  readonly value: string
  readonly at: Instant
}

// Connections take turns among this many of the earliest due entries. A connection with far more of them delays the others
// until they are done; to scan all of them each time would cost more than it helps.
export const MOST_DUE_READ = 20_000

/**
 * What a channel must remember after a restart, and after the end of the worker that stored it. One store for all channels
 * and workers, scoped by channel and kind, so that a new channel adds no methods to storage.
 */
export interface ChannelState {
  /**
   * Adds an entry, durably when the promise resolves. Returns false and changes nothing when the connection has an entry of
   * this kind and key already. With `remindAt` it is found by `due` from then on. `isWanted` is called right before the entry
   * is written, which may be long after the call. If it returns false, nothing is written, and `add` returns false.
   */
  add(
    kind: string,
    entry: {
      connectionId: ConnectionId
      key: string
      value: string
      at: Instant
      remindAt?: Instant
      isWanted?: () => boolean
    },
  ): Promise<boolean>
  /** Null when there is none. */
  find(kind: string, connectionId: ConnectionId, key: string): Promise<MemoryEntry | null>
  /** The entries of these keys that exist, in no order, with one query. */
  findSome(kind: string, connectionId: ConnectionId, keys: readonly string[]): Promise<readonly MemoryEntry[]>
  /** Entries after a position, oldest first. `connectionId` null means of all connections. */
  list(
    kind: string,
    from: { connectionId: ConnectionId | null; after: number; limit: number },
  ): Promise<readonly MemoryEntry[]>
  /**
   * Entries that have a `remindAt` which is not after `now`, the earliest first. All workers see the same, so two may come to
   * act on one entry: what they do must be harmless twice. Costs next to nothing while nothing is due.
   */
  due(kind: string, now: Instant, limit: number): Promise<readonly MemoryEntry[]>
  /** As `due`, but connections take turns, each with its earliest entries first and with at most `mostEach`. */
  dueByTurns(
    kind: string,
    now: Instant,
    most: { readonly limit: number; readonly mostEach: number },
  ): Promise<readonly MemoryEntry[]>
  /** Harmless when it is gone already. */
  remove(kind: string, position: number): Promise<void>
}
