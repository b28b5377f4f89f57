import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { ChannelConnection, ChannelConnections } from '../../../core/ports/channel-connections.ts'
import { CHANNEL_CONNECTION, toChannelConnection } from '../../queries/connections/channel-connection.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

export class PostgresChannelConnections implements ChannelConnections {
  readonly #link: PgConnection
  readonly #channel: string

  constructor(link: PgConnection, channel: string) {
    this.#link = link
    this.#channel = channel
  }

  ofCallbackApp(callbackApp: string): Promise<readonly ChannelConnection[]> {
    return this.#read(
      `${CHANNEL_CONNECTION} and callback_app = $1 and channel = $2 order by state = 'removed', created_at, id`,
      callbackApp,
    )
  }

  async find(id: ConnectionId): Promise<ChannelConnection | null> {
    const [found] = await this.#read(`${CHANNEL_CONNECTION} and id = $1 and channel = $2`, id)
    return found ?? null
  }

  async noteReport(id: ConnectionId, at: Instant): Promise<void> {
    await this.#link.ask(
      'update lane set last_report_at = greatest($1::bigint, last_report_at) where connection_id = $2',
      [at, id],
    )
  }

  async #read(sql: string, key: string): Promise<readonly ChannelConnection[]> {
    // PostgreSQL refuses such a text in a query, and any caller may send one.
    if (key.includes('\0')) return []
    return (await this.#link.ask(sql, [key, this.#channel])).map(toChannelConnection)
  }
}
