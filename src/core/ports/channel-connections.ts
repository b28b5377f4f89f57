import type { AccountId, ConnectionId } from '../ids.ts'

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

/** What a channel asks about its connections outside of a lane. Rejects with `StorageUnavailable`. */
export interface ChannelConnections {
  /** All that share an address for callbacks, the living first; removed ones too, because reports about them still come. */
  ofCallbackApp(callbackApp: string): Promise<readonly ChannelConnection[]>
  /** Removed ones too. Null when there never was one, it is another channel's, or it hangs on no network. */
  find(id: ConnectionId): Promise<ChannelConnection | null>
}
