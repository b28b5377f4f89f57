import type { ConnectionId, Instant } from '../ids.ts'

export interface MemoryEntry {
  /** Grows with every entry, over all channels. */
  readonly position: number
  readonly connectionId: ConnectionId
  readonly key: string
  /** Text as the channel wrote it, usually JSON. */
  readonly value: string
  readonly at: Instant
}

/**
 * What a channel must remember over a restart. One store for all channels, scoped by channel and kind, so that a new
 * channel adds no methods to storage.
 */
export interface ChannelMemory {
  /**
   * Adds an entry, durably when the promise resolves. Returns false and changes nothing when the connection has an
   * entry of this kind and key already.
   */
  add(kind: string, entry: { connectionId: ConnectionId; key: string; value: string; at: Instant }): Promise<boolean>
  /** Null when there is none. */
  find(kind: string, connectionId: ConnectionId, key: string): Promise<MemoryEntry | null>
  /** Entries after a position, oldest first. `connectionId` null means of all connections. */
  list(
    kind: string,
    from: { connectionId: ConnectionId | null; after: number; limit: number },
  ): Promise<readonly MemoryEntry[]>
  /** Harmless when it is gone already. */
  remove(kind: string, position: number): Promise<void>
}
