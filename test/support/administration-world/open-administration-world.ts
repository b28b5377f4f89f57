import { crc32 } from 'node:zlib'
import type { KyselyPlugin } from 'kysely'
import { DEFAULT_LANE_POLICY } from '../../../src/core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { OwnWait } from '../../../src/core/message/message.ts'
import type { Administration } from '../../../src/core/ports/administration.ts'
import type { StorageError } from '../../../src/core/ports/lanes.ts'
import type { AlarmKind, AlarmSeverity } from '../../../src/core/watchdog/alarm-kinds.ts'
import { createAdministration } from '../../../src/storage/queries/administration.ts'
import type { Store } from '../../../src/storage/queries/store.ts'
import { openPostgresWorldDatabase } from './postgres-world-database.ts'
import { openSqliteWorldDatabase } from './sqlite-world-database.ts'
import type { EngineName, OpenWorldDatabase, Row, Value, WorldDatabase } from './world-database.ts'

export { ENGINES, type EngineName } from './world-database.ts'

export const NOON = Date.UTC(2026, 0, 15, 12)

const OPENERS: Readonly<Record<EngineName, OpenWorldDatabase>> = {
  SQLite: openSqliteWorldDatabase,
  PostgreSQL: openPostgresWorldDatabase,
}

interface AcceptedMessage {
  readonly connectionId: ConnectionId
  readonly state?: string
  readonly type?: 'message' | 'image'
  readonly reason?: string
  readonly acceptedAt?: number
  readonly to?: string
}

interface AuditRow {
  readonly actor: string
  readonly account_id: AccountId | null
  readonly action: string
  readonly object: string
  /** As JSON. */
  readonly detail: string
}

interface EndedAttempt {
  readonly outcome: 'accepted' | 'rejected' | 'unknown'
  readonly startedAt?: number
  readonly endedAt?: number
  readonly code?: string
  readonly words?: string
}

interface Entry {
  readonly kind: string
  readonly at: number
  readonly code?: string
  readonly words?: string
  readonly facts?: object
}

interface RaisedAlarm {
  /** Null or left out: the entry is about the whole installation. */
  readonly accountId?: AccountId | null
  readonly kind: AlarmKind
  readonly severity?: AlarmSeverity
  readonly object: string
  readonly facts?: object
  readonly since?: number
  readonly clearedAt?: number
}

/** Administration over a database of its own, with what the service would have written beside it. */
export class AdministrationWorld {
  now = NOON
  /** The error that keeps storage from writing; null while it can. */
  error: StorageError | null = null
  /** The number of the process that holds the data. */
  holder: number | null = null
  #database: WorldDatabase | null = null
  #made = 0

  /** Returns what closes the world. Return it from `beforeEach`, so that it runs after the test. */
  async open(engine: EngineName): Promise<() => Promise<void>> {
    this.#database = await OPENERS[engine](() => this.now)
    await this.run('insert into worker (id, heartbeat_until) values (?, ?)', 'a living worker', NOON + 60_000)
    return () => this.close()
  }

  close(): Promise<void> {
    return this.database.close()
  }

  get database(): WorldDatabase {
    if (!this.#database) throw new Error('The world has not been opened')
    return this.#database
  }

  get administration(): Administration {
    return createAdministration(this.store)
  }

  get store(): Store {
    return { ...this.database.store, findStorageError: async () => this.error, findHolder: () => this.holder }
  }

  /** The same store. It also counts its queries, and notes the length of the longest text in their results. */
  watchStore(): { readonly store: Store; readonly seen: { queries: number; longest: number } } {
    const seen = { queries: 0, longest: 0 }
    const watching: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        seen.queries += 1
        for (const value of result.rows.flatMap((row) => Object.values(row)))
          if (typeof value === 'string') seen.longest = Math.max(seen.longest, value.length)
        return result
      },
    }
    return { store: { ...this.store, database: this.store.database.withPlugin(watching) }, seen }
  }

  /** Leaves the database as a service does that was stopped in order. */
  async stopService(): Promise<void> {
    await this.run('delete from worker')
  }

  /** Leaves the database as after a restore of a copy: nothing is deleted before this time. */
  async delayRetention(until: number): Promise<void> {
    await this.run(`update retention_state set begins_at = ?, waits_for = 'copy'`, until)
  }

  /** Leaves the database as a service does that was killed. */
  async killService(): Promise<void> {
    await this.run('update worker set heartbeat_until = ?', this.now)
  }

  run(sql: string, ...values: readonly Value[]): Promise<void> {
    return this.database.run(sql, ...values)
  }

  all(sql: string, ...values: readonly Value[]): Promise<Row[]> {
    return this.database.all(sql, ...values)
  }

  async account(name = 'Acme'): Promise<AccountId> {
    return (await this.administration.createAccount(name, 'test')).id
  }

  async connection(accountId: AccountId, number = '15550001000'): Promise<ConnectionId> {
    const wanted = { accountId, number, channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
    return (await this.administration.addConnection(wanted, 'test')).id
  }

  /** Accepts many texts in one go. They wait, or have an unknown result. */
  async acceptMany(
    count: number,
    connectionId: ConnectionId,
    state: 'QUEUED' | 'UNCONFIRMED' = 'QUEUED',
  ): Promise<void> {
    const body = JSON.stringify({
      from: '15550001000',
      to: '15550100000',
      message: { type: 'message', message: 'Hello' },
    })
    await this.run(
      `with recursive counted (i) as (select 1 union all select i + 1 from counted where i < ${count})
       insert into message (id, account_id, connection_id, request_id, body, body_crc, recipient, type, state, accepted_at, took_us)
       select 'many-' || i, account_id, id, 'request-' || i, ?, ?, '15550100000', 'message', 'QUEUED', ?, 700
         from connection cross join counted where id = ?`,
      body,
      crc32(body),
      this.now,
      connectionId,
    )
    if (state === 'UNCONFIRMED')
      await this.run(
        `update message set state = 'UNCONFIRMED', reason = 'result_unknown', settled_at = ? where connection_id = ?`,
        this.now + 1_000,
        connectionId,
      )
  }

  /** Stores a message as the service does. A settled one has left its lane a second after it was accepted. */
  async accept(message: AcceptedMessage): Promise<{ id: MessageId; sequence: number }> {
    const id = `message-${++this.#made}` as MessageId
    const { connectionId, state = 'QUEUED', type = 'message', reason = null, acceptedAt = this.now } = message
    const { to = '15550100000' } = message
    const media = { name: 'a.png', url: `https://files.example/${id}.png` }
    const content = type === 'message' ? { type, message: 'Hello' } : { type, media }
    const body = JSON.stringify({ from: '15550001000', to, message: content })
    const [row] = await this.all(
      `insert into message (id, account_id, connection_id, request_id, body, body_crc, recipient, type, state, accepted_at, took_us)
       select ?, account_id, id, ?, ?, ?, ?, ?, 'QUEUED', ?, 700 from connection where id = ? returning sequence`,
      id,
      `request-${this.#made}`,
      body,
      crc32(body),
      to,
      type,
      acceptedAt,
      connectionId,
    )
    const sequence = Number(row?.['sequence'])
    if (state !== 'QUEUED') await this.#settle(sequence, { state, reason, at: acceptedAt + 1_000 })
    if (type !== 'message') {
      await this.run(
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

  async #settle(sequence: number, end: { state: string; reason: string | null; at: number }): Promise<void> {
    await this.run(
      'update message set state = ?, reason = ?, settled_at = ?, published_at = ? where sequence = ?',
      end.state,
      end.reason,
      end.at,
      end.state === 'PUBLISHED' ? end.at : null,
      sequence,
    )
  }

  /** Opens an attempt, as a worker does before it calls the channel. */
  async openAttempt(
    connectionId: ConnectionId,
    sequence: number,
    more: { evidenceUntil?: number; number?: number } = {},
  ): Promise<void> {
    await this.database.insertOfLane('open_attempt', {
      connection_id: connectionId,
      message_sequence: sequence,
      number: more.number ?? 1,
      epoch: 1,
      started_at: this.now,
      evidence_until: more.evidenceUntil ?? null,
    })
  }

  async lane(
    connectionId: ConnectionId,
    wait: { reason?: string; until?: number; owner?: string; words?: string },
  ): Promise<void> {
    await this.run('delete from lane where connection_id = ?', connectionId)
    await this.database.insertOfLane('lane', {
      connection_id: connectionId,
      owner: wait.owner ?? null,
      epoch: 1,
      wait_reason: wait.reason ?? null,
      wait_words: wait.words ?? null,
      wait_until: wait.until ?? null,
    })
  }

  async endAttempt(sequence: number, attempt: EndedAttempt): Promise<void> {
    const { outcome, startedAt = this.now, endedAt = startedAt, code = null, words = null } = attempt
    await this.run(
      `insert into ${this.database.attempts} (message_sequence, number, started_at, ended_at, outcome, code, words)
         values (?, 1, ?, ?, ?, ?, ?)`,
      ...[sequence, startedAt, endedAt, outcome, code, words],
    )
  }

  /** Adds these entries to the timeline of a message. Attempts have rows of their own. */
  async writeTimeline(sequence: number, ...entries: readonly Entry[]): Promise<void> {
    for (const [index, { at, kind, code = null, words = null, facts = null }] of entries.entries())
      await this.run(
        'insert into timeline (message_sequence, position, at, kind, code, words, facts) values (?, ?, ?, ?, ?, ?, ?)',
        ...[sequence, index + 1, at, kind, code, words, facts && JSON.stringify(facts)],
      )
  }

  /** Makes one message wait, apart from its lane. */
  async defer(sequence: number, wait: OwnWait): Promise<void> {
    const retry = JSON.stringify({ tries: 1, resent: false, crashes: 0, wait })
    await this.database.rewriteMessage(sequence, { retry })
  }

  async raiseAlarm(alarm: RaisedAlarm): Promise<void> {
    const {
      accountId = null,
      kind,
      severity = 'warning',
      object,
      facts = {},
      since = this.now,
      clearedAt = null,
    } = alarm
    await this.run(
      `insert into alarm (account_id, kind, object, severity, facts, since, raised_at, changed_at, cleared_at, is_announced)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`,
      ...[accountId, kind, object, severity, JSON.stringify(facts), since, since, since, clearedAt],
    )
  }

  /** Puts a delivery into the inbox of the sandbox. */
  async deliver(connectionId: ConnectionId, key: string, record: object | null): Promise<void> {
    await this.run(
      `insert into channel_memory (kind, connection_id, key, value, at) values ('sandbox.inbox', ?, ?, ?, ?)`,
      ...[connectionId, key, JSON.stringify(record), this.now],
    )
  }

  /** Writes the key of the session with a recipient, as a linked device stores it. */
  async writeSessionKey(connectionId: ConnectionId, id: string, recipient: string): Promise<void> {
    await this.run(
      `insert into channel_session_key (connection_id, kind, id, recipient, value) values (?, 'session', ?, ?, ?)`,
      ...[connectionId, id, recipient, Buffer.of(1)],
    )
  }

  /** Writes the status of the session of a linked device, as a worker does. */
  async writeSessionStatus(connectionId: ConnectionId, status: string, code: number | null = null): Promise<void> {
    await this.run(
      `insert into session_status (connection_id, status, since, code, ready_at, device, version)
         values (?, ?, ?, ?, ?, '3', '2.3000.1')`,
      ...[connectionId, status, this.now, code, this.now],
    )
  }

  changedLanes(): Promise<string[]> {
    return this.database.changedLanes()
  }

  async audit(): Promise<string[]> {
    return (await this.audited('%')).map(({ action }) => action)
  }

  /** The entries of the audit log whose action matches this pattern. */
  async audited(action: string) {
    const rows = await this.all(
      'select actor, account_id, action, object, detail from audit where action like ? order by sequence',
      action,
    )
    return rows as unknown as readonly AuditRow[]
  }

  /** Adds an entry to the audit log for each of these objects. */
  async noteInAudit(accountId: AccountId, objects: readonly string[]): Promise<void> {
    for (const object of objects)
      await this.run(
        `insert into audit (at, actor, account_id, action, object) values (?, 'x', ?, 'made', ?)`,
        ...[this.now, accountId, object],
      )
  }
}
