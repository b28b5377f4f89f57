import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { ChannelConnection, ChannelConnections } from '../../../core/ports/channel-connections.ts'
import { type ChannelState, type MemoryEntry, MOST_DUE_READ } from '../../../core/ports/channel-state.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { CHANNEL_CONNECTION, toChannelConnection } from '../../queries/connections/channel-connection.ts'
import type { GroupCommit } from '../connection/group-commit.ts'

const COLUMNS = 'position, connection_id as connectionId, key, value, at'

export class SqliteChannelState implements ChannelState {
  readonly #commits: GroupCommit
  readonly #channel: string
  readonly #add: StatementSync
  readonly #find: StatementSync
  readonly #findSome: StatementSync
  readonly #listAll: StatementSync
  readonly #listOne: StatementSync
  readonly #due: StatementSync
  readonly #dueByTurns: StatementSync
  readonly #remove: StatementSync

  /** The state of one channel: kinds are stored under the name of the channel. */
  constructor(database: DatabaseSync, commits: GroupCommit, channel: string) {
    this.#commits = commits
    this.#channel = channel
    this.#add = database.prepare(
      'insert into channel_memory (kind, connection_id, key, value, at, remind_at) values (?, ?, ?, ?, ?, ?) on conflict do nothing',
    )
    this.#find = database.prepare(
      `select ${COLUMNS} from channel_memory where kind = ? and connection_id = ? and key = ?`,
    )
    this.#findSome = database.prepare(
      `select ${COLUMNS} from channel_memory where kind = ? and connection_id = ? and key in (select value from json_each(?))`,
    )
    this.#listAll = database.prepare(
      `select ${COLUMNS} from channel_memory where kind = ? and position > ? order by position limit ?`,
    )
    this.#listOne = database.prepare(
      `select ${COLUMNS} from channel_memory where kind = ? and position > ? and connection_id = ? order by position limit ?`,
    )
    this.#due = database.prepare(
      `select ${COLUMNS} from channel_memory where kind = ? and remind_at <= ? order by remind_at, position limit ?`,
    )
    this.#dueByTurns = database.prepare(
      `select m.position, m.connection_id as connectionId, m.key, m.value, m.at from (
           select * from (
             select position, remind_at, row_number() over (partition by connection_id order by remind_at, position) as turn
               from (select position, connection_id, remind_at from channel_memory where kind = ? and remind_at <= ?
                 order by remind_at, position limit ${MOST_DUE_READ})
           ) where turn <= ? order by turn, remind_at, position limit ?
         ) w cross join channel_memory m on m.position = w.position
         order by w.turn, w.remind_at, w.position`,
    )
    this.#remove = database.prepare('delete from channel_memory where kind = ? and position = ?')
  }

  add(kind: string, entry: Parameters<ChannelState['add']>[1]): Promise<boolean> {
    const { connectionId, key, value, at, isWanted = () => true } = entry
    const columns = [this.#scoped(kind), connectionId, key, value, at, entry.remindAt ?? null]
    return this.#commits.submit(() => isWanted() && this.#add.run(...columns).changes === 1)
  }

  async find(kind: string, connectionId: ConnectionId, key: string): Promise<MemoryEntry | null> {
    return (this.#find.get(this.#scoped(kind), connectionId, key) as unknown as MemoryEntry | undefined) ?? null
  }

  async findSome(kind: string, connectionId: ConnectionId, keys: readonly string[]): Promise<readonly MemoryEntry[]> {
    return this.#findSome.all(this.#scoped(kind), connectionId, JSON.stringify(keys)) as unknown as MemoryEntry[]
  }

  async list(
    kind: string,
    from: { connectionId: ConnectionId | null; after: number; limit: number },
  ): Promise<readonly MemoryEntry[]> {
    const rows = from.connectionId
      ? this.#listOne.all(this.#scoped(kind), from.after, from.connectionId, from.limit)
      : this.#listAll.all(this.#scoped(kind), from.after, from.limit)
    return rows as unknown as MemoryEntry[]
  }

  async due(kind: string, now: Instant, limit: number): Promise<readonly MemoryEntry[]> {
    return this.#due.all(this.#scoped(kind), now, limit) as unknown as MemoryEntry[]
  }

  async dueByTurns(
    kind: string,
    now: Instant,
    { limit, mostEach }: { limit: number; mostEach: number },
  ): Promise<readonly MemoryEntry[]> {
    // Asked every second, mostly in vain: this is one step in an index.
    if (!this.#due.get(this.#scoped(kind), now, 1)) return []
    return this.#dueByTurns.all(this.#scoped(kind), now, mostEach, limit) as unknown as MemoryEntry[]
  }

  async remove(kind: string, position: number): Promise<void> {
    await this.#commits.submit(() => this.#remove.run(this.#scoped(kind), position))
  }

  #scoped(kind: string): string {
    return `${this.#channel}.${kind}`
  }
}

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
