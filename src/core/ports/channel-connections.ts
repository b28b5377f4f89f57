import type { AccountId, ConnectionId, Instant } from '../ids.ts'

/** A connection, as its channel knows it. */
export interface ChannelConnection {
  readonly id: ConnectionId
  readonly accountId: AccountId
  /** The sender number. */
  readonly number: string
  /** What the network knows the number by. */
  readonly networkKey: string
  /** As they are stored: secrets sealed. Of a removed connection without them. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly isRemoved: boolean
}

/** How often a channel notes that the network of a connection reports: no more than one small write in this time. */
export const REPORTS_NOTED_EVERY_MS = 60_000

/** What a channel asks about its connections outside of a lane. Rejects with `StorageUnavailable`. */
export interface ChannelConnections {
  /** All that share an address for callbacks, the living first; removed ones too, because reports about them still come. */
  ofCallbackApp(callbackApp: string): Promise<readonly ChannelConnection[]>
  /** Removed ones too. Null when there never was one, it is another channel's, or it hangs on no network. */
  find(id: ConnectionId): Promise<ChannelConnection | null>
  /**
   * The network has called back about this connection: whatever it said, its reports arrive. Without such a note the watchdog
   * says that they are missing. Noted at the first report, and after `REPORTS_NOTED_EVERY_MS` at the next one.
   */
  noteReport(id: ConnectionId, at: Instant): Promise<void>
}
