import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import { Kysely } from 'kysely'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { Administration } from '../../../src/core/ports/administration.ts'
import { createAdministration } from '../../../src/storage/shared/administration.ts'
import type { Tables } from '../../../src/storage/shared/tables.ts'
import { createSqliteDialect } from '../../../src/storage/sqlite/kysely-dialect.ts'
import { openDatabase } from '../../../src/storage/sqlite/open-database.ts'

export const NOON = Date.UTC(2026, 0, 15, 12)

export interface AcceptedMessage {
  readonly connectionId: ConnectionId
  readonly state?: string
  readonly type?: 'message' | 'image'
  readonly reason?: string
  readonly acceptedAt?: number
}

/** Administration over a database in memory, with what the service would have written beside it. */
export class AdministrationWorld {
  readonly database: DatabaseSync = openDatabase(':memory:', { create: true })
  readonly administration: Administration
  now = NOON
  #made = 0

  constructor() {
    const kysely = new Kysely<Tables>({ dialect: createSqliteDialect(this.database) })
    this.administration = createAdministration(kysely, () => this.now)
    this.run('insert into worker (id, heartbeat_until) values (?, ?)', 'a living worker', Number.MAX_SAFE_INTEGER)
  }

  /** As after the service has ended in order. */
  stopService(): void {
    this.run('delete from worker')
  }

  run(sql: string, ...values: SQLInputValue[]): void {
    this.database.prepare(sql).run(...values)
  }

  all(sql: string, ...values: SQLInputValue[]): Record<string, unknown>[] {
    return this.database
      .prepare(sql)
      .all(...values)
      .map((row) => ({ ...row }))
  }

  async account(name = 'Acme'): Promise<AccountId> {
    return (await this.administration.createAccount(name, 'test')).id
  }

  async connection(accountId: AccountId, number = '15550001000'): Promise<ConnectionId> {
    const wanted = { accountId, number, channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
    return (await this.administration.addConnection(wanted, 'test')).id
  }

  /** A message as the service stores it. Settled ones have left their lane a second after acceptance. */
  accept(message: AcceptedMessage): { id: MessageId; sequence: number } {
    const id = `message-${++this.#made}` as MessageId
    const { connectionId, state = 'QUEUED', type = 'message', reason = null, acceptedAt = this.now } = message
    const media = { name: 'a.png', url: `https://files.example/${id}.png` }
    const content = type === 'message' ? { type, message: 'Hello' } : { type, media }
    const body = JSON.stringify({ from: '15550001000', to: '15550100000', message: content })
    const settledAt = state === 'QUEUED' ? null : acceptedAt + 1_000
    this.run(
      `insert into message (id, account_id, connection_id, request_id, body, body_crc, recipient, type, state, reason, accepted_at,
         settled_at, published_at, took_us)
       select ?, account_id, id, ?, ?, ?, '15550100000', ?, ?, ?, ?, ?, ?, 700 from connection where id = ?`,
      id,
      `request-${this.#made}`,
      body,
      crc32(body),
      type,
      state,
      reason,
      acceptedAt,
      settledAt,
      state === 'PUBLISHED' ? settledAt : null,
      connectionId,
    )
    const sequence = Number(this.all('select sequence from message where id = ?', id)[0]?.['sequence'])
    if (type !== 'message') {
      this.run(
        `insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
         select ?, account_id, id, ?, ?, 'pending', ? from connection where id = ?`,
        sequence,
        media.url,
        type,
        acceptedAt,
        connectionId,
      )
    }
    return { id, sequence }
  }

  /** Opens an attempt, as a worker does before it calls the channel. */
  openAttempt(
    connectionId: ConnectionId,
    sequence: number,
    more: { evidenceUntil?: number; number?: number } = {},
  ): void {
    this.run(
      'insert into open_attempt (connection_id, message_sequence, number, epoch, started_at, evidence_until) values (?, ?, ?, 1, ?, ?)',
      connectionId,
      sequence,
      more.number ?? 1,
      this.now,
      more.evidenceUntil ?? null,
    )
  }

  lane(connectionId: ConnectionId, wait: { reason?: string; until?: number; owner?: string; words?: string }): void {
    this.run(
      'insert or replace into lane (connection_id, owner, epoch, wait_reason, wait_words, wait_until) values (?, ?, 1, ?, ?, ?)',
      connectionId,
      wait.owner ?? null,
      wait.reason ?? null,
      wait.words ?? null,
      wait.until ?? null,
    )
  }

  changedLanes(): unknown[] {
    return this.all('select connection_id from lane_change order by position').map((row) => row['connection_id'])
  }

  audit(): string[] {
    return this.all('select action from audit order by sequence').map((row) => String(row['action']))
  }
}
