import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { ChannelConnection, ChannelConnections } from '../../../core/ports/channel-connections.ts'
import { type ChannelState, type MemoryEntry, MOST_DUE_READ } from '../../../core/ports/channel-state.ts'
import { CHANNEL_CONNECTION, toChannelConnection } from '../../queries/connections/channel-connection.ts'
import { Batcher } from '../connection/batcher.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

const COLUMNS = 'position, connection_id as "connectionId", key, value, at'
const DUE = `select ${COLUMNS} from channel_memory where kind = $1 and remind_at <= $2 order by remind_at, position limit $3`
const DUE_BY_TURNS = `
  select m.position, m.connection_id as "connectionId", m.key, m.value, m.at from (
    select * from (
      select position, remind_at, row_number() over (partition by connection_id order by remind_at, position) as turn
        from (select position, connection_id, remind_at from channel_memory where kind = $1 and remind_at <= $2
          order by remind_at, position limit ${MOST_DUE_READ}) soonest
    ) numbered where turn <= $4 order by turn, remind_at, position limit $3
  ) wanted join channel_memory m on m.position = wanted.position
  order by wanted.turn, wanted.remind_at, wanted.position`

interface NewEntry {
  readonly kind: string
  readonly connectionId: ConnectionId
  readonly key: string
  readonly value: string
  readonly at: Instant
  readonly remindAt: Instant | null
  readonly isWanted: () => boolean
}

interface Removal {
  readonly kind: string
  readonly position: number
}

/** What channels remember. One for all of them: `of` gives each its own part. */
export class PostgresChannelState {
  readonly #pgConnection: PgConnection
  readonly #additionsConnection: PgConnection
  readonly #additions: Batcher<NewEntry, boolean>
  readonly #removals: Batcher<Removal, undefined>

  /** `additions` carries nothing else, because an entry must be written at once after `isWanted` has returned true. */
  constructor({ pgConnection, additions }: { readonly pgConnection: PgConnection; readonly additions: PgConnection }) {
    this.#pgConnection = pgConnection
    this.#additionsConnection = additions
    this.#additions = new Batcher({ concurrency: 1, mostPerBatch: 500, run: (entries) => this.#add(entries) })
    // Removing one by one would wait for a flush each, and reads on the same connection would wait behind it.
    this.#removals = new Batcher({ concurrency: 1, mostPerBatch: 500, run: (removals) => this.#remove(removals) })
  }

  of(channel: string): ChannelState {
    const scoped = (kind: string) => `${channel}.${kind}`
    return {
      add: (kind, { remindAt = null, isWanted = () => true, ...entry }) =>
        this.#additions.submit({ ...entry, kind: scoped(kind), remindAt, isWanted }),
      find: async (kind, connectionId, key) => {
        const [entry] = await this.#read(
          `select ${COLUMNS} from channel_memory where kind = $1 and connection_id = $2 and key = $3`,
          [scoped(kind), connectionId, key],
        )
        return entry ?? null
      },
      findSome: async (kind, connectionId, keys) => {
        // PostgreSQL refuses a text with U+0000 even in a query.
        const wanted = keys.filter((key) => !key.includes('\0'))
        return this.#read(
          `select ${COLUMNS} from channel_memory where kind = $1 and connection_id = $2 and key = any($3::text[])`,
          [scoped(kind), connectionId, textArray(wanted)],
        )
      },
      list: (kind, { connectionId, after, limit }) =>
        this.#read(
          `select ${COLUMNS} from channel_memory
             where kind = $1 and position > $2 and ($3::text is null or connection_id = $3) order by position limit $4`,
          [scoped(kind), after, connectionId, limit],
        ),
      due: (kind, now, limit) => this.#read(DUE, [scoped(kind), now, limit]),
      dueByTurns: (kind, now, { limit, mostEach }) => this.#read(DUE_BY_TURNS, [scoped(kind), now, limit, mostEach]),
      remove: (kind, position) => this.#removals.submit({ kind: scoped(kind), position }),
    }
  }

  async #read(sql: string, values: readonly unknown[]): Promise<readonly MemoryEntry[]> {
    return (await this.#pgConnection.query(sql, values)) as unknown as readonly MemoryEntry[]
  }

  async #remove(removals: readonly Removal[]): Promise<readonly undefined[]> {
    await this.#pgConnection.query(
      `delete from channel_memory
         where position = any($2::bigint[]) and (kind, position) in (select * from unnest($1::text[], $2::bigint[]))`,
      [textArray(removals.map(({ kind }) => kind)), bigintArray(removals.map(({ position }) => position))],
    )
    return removals.map(() => undefined)
  }

  async #add(given: readonly NewEntry[]): Promise<readonly boolean[]> {
    // Connecting may take long, so it comes first. Then `isWanted` is asked and the statement is sent in the same turn.
    await this.#additionsConnection.connect()
    const entries = given.filter(({ isWanted }) => isWanted())
    if (entries.length === 0) return given.map(() => false)
    const added = await this.#additionsConnection.queryNow(
      'select * from remember_entries($1, $2, $3, $4, $5, $6) as i',
      [
        textArray(entries.map(({ kind }) => kind)),
        textArray(entries.map(({ connectionId }) => connectionId)),
        textArray(entries.map(({ key }) => key)),
        textArray(entries.map(({ value }) => value)),
        bigintArray(entries.map(({ at }) => at)),
        bigintArray(entries.map(({ remindAt }) => remindAt)),
      ],
    )
    const isAdded = new Set(added.map((row) => entries[(row['i'] as number) - 1]))
    return given.map((entry) => isAdded.has(entry))
  }
}

export class PostgresChannelConnections implements ChannelConnections {
  readonly #pgConnection: PgConnection
  readonly #channel: string

  constructor(pgConnection: PgConnection, channel: string) {
    this.#pgConnection = pgConnection
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
    await this.#pgConnection.query(
      'update lane set last_report_at = greatest($1::bigint, last_report_at) where connection_id = $2',
      [at, id],
    )
  }

  async #read(sql: string, key: string): Promise<readonly ChannelConnection[]> {
    // PostgreSQL refuses such a text in a query, and any caller may send one.
    if (key.includes('\0')) return []
    return (await this.#pgConnection.query(sql, [key, this.#channel])).map(toChannelConnection)
  }
}
