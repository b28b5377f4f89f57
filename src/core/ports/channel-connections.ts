import type { AccountId, ConnectionId, Instant } from '../ids.ts'

/** A connection, as its channel knows it. */
export interface ChannelConnection {
  readonly id: ConnectionId
  readonly accountId: AccountId
  /** The sender number. */
  readonly number: string
  /** The id of the number at its network. */
  readonly networkKey: string
  /** The last part of its address for callbacks; null when it has none. */
  readonly callbackApp: string | null
  /** As stored: with sealed secrets, or with none when the connection was removed. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly isRemoved: boolean
}

/** How often a channel notes that the network of a connection reports: no more than one small write in this time. */
export const REPORTS_NOTED_EVERY_MS = 60_000

/** What a channel asks about its connections outside of a lane. Rejects with `StorageUnavailable`. */
export interface ChannelConnections {
  /** All that share an address for callbacks. Removed ones are included and come last, because reports about them still arrive. */
  ofCallbackApp(callbackApp: string): Promise<readonly ChannelConnection[]>
  /** Removed ones too. Null: there never was one, it belongs to another channel, or its channel has no network. */
  find(id: ConnectionId): Promise<ChannelConnection | null>
  /**
   * Notes that the network has called back about this connection, so its reports arrive. Without such a note the watchdog
   * raises `reports_missing`. Writes at the first report, and again at the next one after `REPORTS_NOTED_EVERY_MS`.
   */
  noteReport(id: ConnectionId, at: Instant): Promise<void>
}
