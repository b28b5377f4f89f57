import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { ChannelConnection } from '../../../core/ports/channel-connections.ts'

/** What both engines read of a connection for its channel. */
export const CHANNEL_CONNECTION = `select id, account_id, number, network_key, callback_app, channel_settings, state from connection
  where network_key is not null`

export function toChannelConnection(row: Readonly<Record<string, unknown>>): ChannelConnection {
  return {
    id: row['id'] as ConnectionId,
    accountId: row['account_id'] as AccountId,
    number: row['number'] as string,
    networkKey: row['network_key'] as string,
    callbackApp: (row['callback_app'] ?? null) as string | null,
    settings: JSON.parse(row['channel_settings'] as string) as Record<string, unknown>,
    isRemoved: row['state'] === 'removed',
  }
}
