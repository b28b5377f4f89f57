import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { ChannelConnection, ChannelConnections } from '../../../core/ports/channel-connections.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { CHANNEL_CONNECTION, toChannelConnection } from '../../queries/connections/channel-connection.ts'
import type { GroupCommit } from '../connection/group-commit.ts'

/** Reads in the serving thread: a few rows by an index. */
export class SqliteChannelConnections implements ChannelConnections {
  readonly #channel: string
  readonly #ofCallbackApp: StatementSync
  readonly #find: StatementSync
  readonly #noteReport: StatementSync
  readonly #commits: GroupCommit

  constructor(database: DatabaseSync, commits: GroupCommit, channel: string) {
    this.#commits = commits
    this.#channel = channel
    this.#noteReport = database.prepare(
      'update lane set last_report_at = max(?, coalesce(last_report_at, 0)) where connection_id = ?',
    )
    this.#ofCallbackApp = database.prepare(
      `${CHANNEL_CONNECTION} and callback_app = ? and channel = ? order by state = 'removed', created_at, id`,
    )
    this.#find = database.prepare(`${CHANNEL_CONNECTION} and id = ? and channel = ?`)
  }

  async ofCallbackApp(callbackApp: string): Promise<readonly ChannelConnection[]> {
    return this.#read(this.#ofCallbackApp, callbackApp)
  }

  async find(id: ConnectionId): Promise<ChannelConnection | null> {
    return this.#read(this.#find, id)[0] ?? null
  }

  async noteReport(id: ConnectionId, at: Instant): Promise<void> {
    await this.#commits.submit(() => this.#noteReport.run(at, id))
  }

  #read(statement: StatementSync, key: string): readonly ChannelConnection[] {
    try {
      return statement.all(key, this.#channel).map(toChannelConnection)
    } catch (error) {
      throw new StorageUnavailable('the database cannot be read', false, { cause: error })
    }
  }
}
