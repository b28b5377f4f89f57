import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { type LanePolicy, parseLanePolicy } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import type { Token } from '../../../core/token/token.ts'
import { toToken } from '../../queries/tokens/token-rows.ts'
import { storageError } from '../connection/sqlite-errors.ts'

export interface DirectoryConnection {
  readonly id: ConnectionId
  readonly accountId: AccountId
  readonly number: string
  readonly channel: string
  readonly state: 'active' | 'paused' | 'removed'
  readonly policy: LanePolicy
  readonly channelSettings: Readonly<Record<string, unknown>>
}

const CONNECTION = 'select id, account_id, number, channel, state, policy, channel_settings from connection'
const TOKEN = 'select id, account_id, events, expires_at, deleted_at, connection_ids, source_ranges from token'

/**
 * Caches tokens and connections until another process changes the database. After `refresh` inside a write transaction
 * the cache is exact, because no other process can commit before that transaction ends (G7).
 */
export class Directory {
  readonly #dataVersion: StatementSync
  readonly #begin: StatementSync
  readonly #rollback: StatementSync
  readonly #tokenByHash: StatementSync
  readonly #tokenById: StatementSync
  readonly #connectionByNumber: StatementSync
  readonly #connectionById: StatementSync
  readonly #changesAfter: StatementSync
  readonly #hold: StatementSync
  readonly #lastChange: StatementSync
  #version = -1
  #tokens = new Map<string, Token | null>()
  #connections = new Map<ConnectionId, DirectoryConnection | null>()
  #byNumber = new Map<AccountId, Map<string, DirectoryConnection>>()
  #changePosition = 0
  #holdFound: boolean | null = null
  #freshThisTurn = false
  #onOthers: () => void = () => {}
  #onLanesChanged: (ids: readonly ConnectionId[]) => void = () => {}

  constructor(database: DatabaseSync) {
    this.#dataVersion = database.prepare('pragma data_version')
    this.#begin = database.prepare('begin immediate')
    this.#rollback = database.prepare('rollback')
    this.#tokenByHash = database.prepare(`${TOKEN} where sha256 = ?`)
    this.#tokenById = database.prepare(`${TOKEN} where id = ?`)
    this.#connectionByNumber = database.prepare(
      `${CONNECTION} where account_id = ? and number = ? and state <> 'removed'`,
    )
    this.#hold = database.prepare('select 1 from hold')
    this.#connectionById = database.prepare(`${CONNECTION} where id = ?`)
    this.#changesAfter = database.prepare(
      'select position, connection_id from lane_change where position > ? order by position',
    )
    this.#lastChange = database.prepare('select coalesce(max(position), 0) as position from lane_change')
    this.#changePosition = (this.#lastChange.get() as { position: number }).position
  }

  /** Called whenever another process may have written, before anything cached is used. */
  onOthers(call: () => void): void {
    this.#onOthers = call
  }

  /** Reports lanes that another process changed. Called outside of transactions: the receiver must reload them. */
  onLanesChanged(call: (ids: readonly ConnectionId[]) => void): void {
    this.#onLanesChanged = call
  }

  /** Changes with each change by another process that was noticed. */
  get version(): number {
    return this.#version
  }

  /** Clears the cache if another connection has committed since the last call. */
  refresh(): void {
    const version = (this.#dataVersion.get() as { data_version: number }).data_version
    if (version === this.#version) return
    this.#version = version
    this.#tokens.clear()
    this.#connections.clear()
    this.#byNumber.clear()
    this.#holdFound = null
    this.#onOthers()
    const changes = this.#changesAfter.all(this.#changePosition) as { position: number; connection_id: ConnectionId }[]
    const last = changes.at(-1)
    if (!last) return
    this.#changePosition = last.position
    const ids = [...new Set(changes.map((change) => change.connection_id))]
    setImmediate(() => this.#onLanesChanged(ids))
  }

  /**
   * As `refresh`, but false while another connection is writing, because its commit may not be visible yet. Not within
   * a transaction.
   */
  refreshExactly(): boolean {
    try {
      this.#begin.run()
    } catch (error) {
      this.refresh()
      return storageError(error) !== 'busy'
    }
    try {
      this.refresh()
    } finally {
      this.#rollback.run()
    }
    return true
  }

  /** Reports a lane that another part of this process changed. */
  laneChanged(id: ConnectionId): void {
    setImmediate(() => this.#onLanesChanged([id]))
  }

  /** As `refresh`, at most once in a turn of the event loop: for reads that a transaction checks again. */
  refreshOncePerTurn(): void {
    if (this.#freshThisTurn) return
    this.#freshThisTurn = true
    setImmediate(() => {
      this.#freshThisTurn = false
    })
    this.refresh()
  }

  tokenByHash(sha256: Buffer): Token | null {
    const key = sha256.toString('latin1')
    let token = this.#tokens.get(key)
    if (token === undefined) {
      token = findToken(this.#tokenByHash, sha256)
      // Unknown tokens are not cached: an attacker could fill the memory with them.
      if (token) this.#tokens.set(key, token).set(token.id, token)
    }
    return token
  }

  tokenById(id: TokenId): Token | null {
    let token = this.#tokens.get(id)
    if (token === undefined) {
      token = findToken(this.#tokenById, id)
      if (token) this.#tokens.set(id, token)
    }
    return token
  }

  /** Never a removed one. */
  connectionByNumber(accountId: AccountId, number: string): DirectoryConnection | null {
    let numbers = this.#byNumber.get(accountId)
    if (!numbers) {
      numbers = new Map()
      this.#byNumber.set(accountId, numbers)
    }
    let connection = numbers.get(number) ?? null
    if (!connection) {
      connection = toConnection(this.#connectionByNumber.get(accountId, number))
      if (connection) numbers.set(number, connection)
    }
    return connection
  }

  /** Whether this connection may begin to send something: not while all lanes are held (G12). */
  maySend(id: ConnectionId): boolean {
    return !this.isHeld && this.connectionById(id)?.state === 'active'
  }

  /** Whether all lanes are held (G12). */
  get isHeld(): boolean {
    this.#holdFound ??= this.#hold.get() !== undefined
    return this.#holdFound
  }

  /** The lanes may be held from now on. */
  reloadHold(): void {
    this.#holdFound = null
  }

  /** Removed ones too. */
  connectionById(id: ConnectionId): DirectoryConnection | null {
    let connection = this.#connections.get(id)
    if (connection === undefined) {
      connection = toConnection(this.#connectionById.get(id))
      this.#connections.set(id, connection)
    }
    return connection
  }
}

type Row = Record<string, unknown> | undefined

function findToken(statement: StatementSync, key: Buffer | TokenId): Token | null {
  const row = statement.get(key)
  return row ? toToken(row) : null
}

function toConnection(row: Row): DirectoryConnection | null {
  if (!row) return null
  return {
    id: row['id'] as ConnectionId,
    accountId: row['account_id'] as AccountId,
    number: row['number'] as string,
    channel: row['channel'] as string,
    state: row['state'] as DirectoryConnection['state'],
    policy: parseLanePolicy(row['policy'] as string),
    channelSettings: JSON.parse(row['channel_settings'] as string) as Record<string, unknown>,
  }
}
