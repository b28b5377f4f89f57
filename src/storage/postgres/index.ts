import { validLeaseSql } from '../../core/dispatch/workers/lease.ts'
import type { ConnectionId, MessageId, SpoolId } from '../../core/ids.ts'
import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { type HashRecipient, noHash } from '../../core/ports/recipients.ts'
import type { KeyFacts } from '../../core/ports/secrets.ts'
import type { SessionRows } from '../../core/ports/session-store.ts'
import type { Watch } from '../../core/ports/watch.ts'
import { Refusal } from '../../core/refusals.ts'
import { createWatch } from '../queries/alarms/create-watch.ts'
import { CheckpointFile } from '../queries/checkpoint.ts'
import type { WorkerFacts } from '../queries/lanes/workers.ts'
import { KEY_FACTS, toKeyFacts } from '../queries/secrets/secret-store.ts'
import { StorageHealth } from '../queries/storage-health.ts'
import { type IntakeLimits, PostgresIntake } from './accept/accept.ts'
import { countWaiting } from './accept/backlog.ts'
import { PURPOSES } from './connection/connection-purposes.ts'
import { DatabaseClock } from './connection/database-clock.ts'
import { FencedConnection } from './connection/fenced-connection.ts'
import { CHANGE_CHANNEL, Listener, readWake, WAKE_CHANNEL, WakeUpNotifier } from './connection/listener.ts'
import { checkServer, migrateDatabase } from './connection/open-database.ts'
import { PgConnection, type Query } from './connection/pg-connection.ts'
import { POLL_BLOCKED_EVERY_MS, PostgresBlockedRecipients } from './lanes/blocked-recipients.ts'
import { PostgresChannelConnections, PostgresChannelState } from './lanes/channel-state.ts'
import { PostgresLanes } from './lanes/lanes.ts'
import { PostgresNotices } from './lanes/notifications.ts'
import { SendAgainConnection } from './lanes/send-again.ts'
import { PostgresSessionRows } from './lanes/session-rows.ts'
import { PostgresMediaQueue } from './media/media-queue.ts'
import { PostgresWatchDatabase } from './queries/watch-database.ts'
import { runMaintenance } from './retention/maintenance.ts'
import { PostgresRetention } from './retention/retention.ts'
import { RollbackDetector } from './safety/rollback-detector.ts'

// Polling is authoritative; notifications only reduce latency.
const POLL_EVERY_MS = 2_000
const HEARTBEAT_EVERY_MS = 5_000
const COUNT_EVERY_MS = 15_000
const MAINTENANCE_EVERY_MS = 60_000
// Longer than any of our statements takes on a healthy server, shorter than a lease.
const ANSWER_WITHIN_MS = 8_000

interface PostgresStorageOptions {
  readonly url: string
  /** A direct URL of the server, if `url` goes through a pooler. */
  readonly listenUrl: string
  /** The URL of a role that may change the tables. */
  readonly migrateUrl: string
  /** The folder in which this process stores its checkpoint. */
  readonly dataDir: string
  readonly clock: Clock
  readonly worker: WorkerFacts
  readonly spool: SpoolId
  readonly limits: IntakeLimits
  /** What can be sent, as `channel/type`. Asked once the channels are made. */
  readonly sendable: () => readonly string[]
  /** After each commit of acceptances or steps; must be quick. */
  readonly onCommit?: (committed: {
    readonly operation: 'accept' | 'step'
    readonly rows: number
    readonly tookMs: number
  }) => void
  /** Without it, erased people are not blocked by hash. */
  readonly hashRecipient?: HashRecipient
  /** Called when maintenance fails. It is retried by itself. */
  readonly onError: (error: unknown) => void
}

interface PostgresStorageEvents {
  readonly lanesChanged: (ids: readonly ConnectionId[]) => void
  readonly lanesWoken: (ids: readonly ConnectionId[]) => void
}

/** Migrates, validates and opens the database. Refuses with a sentence. */
export async function openPostgresStorage(options: PostgresStorageOptions): Promise<PostgresStorage> {
  await migrateDatabase({ url: options.url, migrateUrl: options.migrateUrl })
  const storage = new PostgresStorage(options)
  try {
    await storage.validateConnection()
    return storage
  } catch (error) {
    await storage.close()
    // At start the caller gets the full refusal. The running service only reports storage as unavailable.
    throw error instanceof StorageUnavailable && error.cause instanceof Refusal ? error.cause : error
  }
}

/** Everything a process needs of storage, on a PostgreSQL database that it may share with others. */
export class PostgresStorage {
  readonly intake: PostgresIntake
  readonly lanes: PostgresLanes
  readonly mediaQueue: PostgresMediaQueue
  readonly notices: PostgresNotices
  readonly watch: Watch
  readonly blocked: PostgresBlockedRecipients
  readonly retention: PostgresRetention
  readonly sessions: SessionRows
  readonly clock: DatabaseClock
  readonly pollEveryMs = POLL_EVERY_MS
  readonly health: StorageHealth
  readonly #options: PostgresStorageOptions
  readonly #rollbackDetector: RollbackDetector
  readonly #channels: PostgresChannelState
  /** For the state and the connections of channels. */
  readonly #channelReads: PgConnection
  readonly #again: SendAgainConnection
  readonly #pgConnections: PgConnection[] = []
  /** For occasional statements. */
  readonly #plain: PgConnection
  readonly #wakeUpNotifier: WakeUpNotifier
  readonly #timers: NodeJS.Timeout[] = []
  #listener: Listener | null = null
  #fencedConnections = 0
  #accepting = 1
  #waiting = 0
  #figures = { databaseBytes: 0, spoolBytes: 0, pausedConnections: 0 }
  #connectionsMade = 0
  #closed: Promise<void> | null = null

  constructor(options: PostgresStorageOptions) {
    this.#options = options
    const file = CheckpointFile.in(options.dataDir)
    this.#rollbackDetector = new RollbackDetector({
      worker: options.worker.id,
      file,
      onAlarm: (sentence) => options.onError(new Error(sentence)),
    })
    this.#plain = this.#newConnection('rest')
    this.notices = new PostgresNotices(this.#query)
    this.clock = new DatabaseClock(options.clock)
    this.health = new StorageHealth(this.clock)
    this.#wakeUpNotifier = new WakeUpNotifier(this.#newConnection('notifications'))
    this.#channelReads = this.#newConnection('channels')
    this.#again = new SendAgainConnection({ url: options.url, file, now: () => this.clock.now() })
    this.#channels = new PostgresChannelState({
      pgConnection: this.#channelReads,
      additions: this.#newConnection('additions'),
    })
    this.sessions = new PostgresSessionRows(this.#newConnection('sessions'))
    this.intake = new PostgresIntake({
      connections: this.#newFencedConnections('accept'),
      lookUps: this.#newConnection('look-ups'),
      background: this.#newConnection('background'),
      clock: this.clock,
      health: this.health,
      limits: options.limits,
      sendable: options.sendable,
      acceptingProcesses: () => this.#accepting,
    })
    this.lanes = new PostgresLanes({
      connections: this.#newFencedConnections('steps'),
      runs: this.#newConnections('runs'),
      claims: this.#newConnection('claims'),
      beats: this.#newConnection('beats'),
      worker: options.worker,
      spool: options.spool,
      clock: this.clock,
      health: this.health,
    })
    this.blocked = new PostgresBlockedRecipients({
      clock: this.clock,
      pgConnection: this.#newConnection('blocks'),
      hash: options.hashRecipient ?? noHash,
    })
    const retention = this.#newConnection('retention')
    this.retention = new PostgresRetention((sql, values) => retention.query(sql, values))
    this.mediaQueue = new PostgresMediaQueue({
      pgConnection: this.#newConnection('media'),
      worker: options.worker.id,
      spool: options.spool,
    })
    this.watch = createWatch({
      database: new PostgresWatchDatabase({
        pgConnection: this.#plain,
        counts: this.#newConnection('watch'),
        waiting: () => this.#waiting,
      }),
      now: () => this.clock.now(),
      limits: options.limits,
    })
  }

  /** Checks that this is the right database, before anything uses it. */
  async validateConnection(): Promise<void> {
    await this.#query('select 1')
    await this.lanes.renewLease()
  }

  async isEmpty(): Promise<boolean> {
    return (await this.#query('select 1 from account limit 1')).length === 0
  }

  async hasPeople(): Promise<boolean> {
    return (await this.#query('select 1 from person limit 1')).length > 0
  }

  async readKeyFacts(): Promise<KeyFacts> {
    return toKeyFacts((await this.#query(KEY_FACTS))[0])
  }

  channelState(channel: string): ChannelState {
    return this.#channels.of(channel)
  }

  channelConnections(channel: string): ChannelConnections {
    return new PostgresChannelConnections(this.#channelReads, channel)
  }

  sendAgain(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    return this.#again.sendAgain(failed)
  }

  async start({ lanesChanged, lanesWoken }: PostgresStorageEvents): Promise<void> {
    this.#listener = new Listener({
      url: this.#options.listenUrl,
      channels: [WAKE_CHANNEL, CHANGE_CHANNEL],
      onNotice: (channel, payload) => {
        if (channel === WAKE_CHANNEL) return lanesWoken(readWake(payload))
        this.intake.forgetTokens()
        const ids = readWake(payload)
        // A notification without lanes is about a token or a block list.
        if (ids.length === 0) this.#reloadBlocks()
        lanesChanged(ids)
      },
      onHearing: () => this.intake.forgetTokens(),
      onError: (error) => this.#options.onError(error),
    })
    this.#listener.start()
    this.#every(HEARTBEAT_EVERY_MS, () => this.#renewLease())
    this.#every(COUNT_EVERY_MS, () => this.#count())
    if (this.#options.worker.roles.includes('dispatch'))
      this.#every(POLL_BLOCKED_EVERY_MS, () => this.blocked.pollIfUsed())
    this.#every(MAINTENANCE_EVERY_MS, () => runMaintenance(this.#query))
    await Promise.all([this.#renewLease(), this.#count()])
  }

  notifyPeers(ids: readonly ConnectionId[]): void {
    this.#wakeUpNotifier.notify(ids)
  }

  acceptingProcesses(): number {
    return this.#accepting
  }

  /** True when a row can be committed now and no request failed in the last seconds. */
  async isWritable(): Promise<boolean> {
    try {
      await this.#query(`select begin_durable_write(1000), record_fence($1, -1, 0)`, [this.#options.worker.id])
      this.health.wrote()
      return this.health.error === null
    } catch (error) {
      if (error instanceof StorageUnavailable) this.health.failed(error)
      return false
    }
  }

  waiting(): number {
    return this.#waiting
  }

  /** Up to 15 seconds old, except for `connectionsMade`. */
  figures(): { databaseBytes: number; spoolBytes: number; pausedConnections: number; connectionsMade: number } {
    return { ...this.#figures, connectionsMade: this.#connectionsMade }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer)
    await this.#listener?.close()
    await this.intake.close()
    await this.#again.close()
    // So that a copy of the database that was made just before is older than our checkpoint.
    if (this.#timers.length > 0) await this.#rollbackDetector.renewLease(this.#query).catch(() => {})
    await Promise.all(this.#pgConnections.map((pgConnection) => pgConnection.close()))
  }

  /** Dispatchers renew their own lease as often as they need. This renews it for all other processes. */
  async #renewLease(): Promise<void> {
    const { worker } = this.#options
    if (!worker.roles.includes('dispatch')) await this.lanes.renewLease()
    await this.#rollbackDetector.renewLease(this.#query)
    const [row] = await this.#query(
      `select count(*) as accepting from worker
         where ${validLeaseSql('now_ms()')} and ',' || roles || ',' like '%,api,%' and id <> $1`,
      [worker.id],
    )
    this.#accepting = ((row?.['accepting'] as number | undefined) ?? 0) + 1
  }

  async #count(): Promise<void> {
    this.#waiting = await countWaiting(this.#query)
    this.#figures = await countFigures(this.#query, this.#options.spool)
  }

  #reloadBlocks(): void {
    if (!this.#options.worker.roles.includes('dispatch')) return
    this.blocked.forget()
    this.blocked.poll().catch((error: unknown) => this.#options.onError(error))
  }

  readonly #query: Query = (sql, values) => this.#plain.query(sql, values)

  #every(delayMs: number, call: () => Promise<void>): void {
    let isRunning = false
    const timer = setInterval(() => {
      if (isRunning) return
      isRunning = true
      call()
        .catch((error: unknown) => this.#options.onError(error))
        .finally(() => {
          isRunning = false
        })
    }, delayMs)
    timer.unref()
    this.#timers.push(timer)
  }

  #newFencedConnections(purpose: 'accept' | 'steps'): readonly FencedConnection[] {
    const { worker, onCommit } = this.#options
    return this.#newConnections(purpose).map((pgConnection) => {
      const connection = new FencedConnection(worker.id, {
        number: this.#fencedConnections,
        pgConnection,
        onCommit: (rows, tookMs) => {
          this.health.wrote()
          onCommit?.({ operation: purpose === 'steps' ? 'step' : purpose, rows, tookMs })
        },
        onError: (error) => this.health.failed(error),
      })
      this.#fencedConnections += 1
      this.#rollbackDetector.watch(connection)
      return connection
    })
  }

  #newConnections(purpose: keyof typeof PURPOSES): readonly PgConnection[] {
    return Array.from({ length: PURPOSES[purpose].count }, () => this.#newConnection(purpose))
  }

  #newConnection(purpose: keyof typeof PURPOSES): PgConnection {
    const pgConnection = new PgConnection({
      url: this.#options.url,
      applicationName: `nuncio ${purpose}`,
      answerWithinMs: ANSWER_WITHIN_MS,
      onConnected: () => {
        this.#connectionsMade += 1
      },
      validateConnection: async (query) => {
        await checkServer(query, this.#options.url)
        await this.#rollbackDetector.validateConnection(query)
      },
    })
    this.#pgConnections.push(pgConnection)
    return pgConnection
  }
}

/** For the metrics: how large the database is, what lies in a spool, and how many connections are paused. */
async function countFigures(
  query: Query,
  spool: SpoolId,
): Promise<{ readonly databaseBytes: number; readonly spoolBytes: number; readonly pausedConnections: number }> {
  const [row] = await query(
    `select pg_database_size(current_database()) as database_bytes,
       coalesce((select sum(size_bytes) from media where spool = $1 and state = 'ready'), 0)::bigint as spool_bytes,
       (select count(*) from connection where state = 'paused') as paused`,
    [spool],
  )
  return {
    databaseBytes: (row?.['database_bytes'] as number | undefined) ?? 0,
    spoolBytes: (row?.['spool_bytes'] as number | undefined) ?? 0,
    pausedConnections: (row?.['paused'] as number | undefined) ?? 0,
  }
}
