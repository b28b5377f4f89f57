import { dirname, join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import { commandLine } from '../../core/command-line.ts'
import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { type HashRecipient, noHash } from '../../core/ports/recipients.ts'
import type { KeyFacts } from '../../core/ports/secrets.ts'
import type { SessionRows } from '../../core/ports/session-store.ts'
import type { Watch } from '../../core/ports/watch.ts'
import { createWatch } from '../queries/alarms/create-watch.ts'
import { CheckpointFile } from '../queries/checkpoint.ts'
import { toWorkerRow, type WorkerFacts } from '../queries/lanes/workers.ts'
import { KEY_FACTS, toKeyFacts } from '../queries/secrets/secret-store.ts'
import { StorageHealth } from '../queries/storage-health.ts'
import { type IntakeLimits, SqliteIntake } from './accept/accept.ts'
import { Directory } from './accept/directory.ts'
import { WaitingCounts } from './accept/waiting-counts.ts'
import { CommitWatch } from './connection/commit-watch.ts'
import { GroupCommit, type Participant } from './connection/group-commit.ts'
import { openDatabase } from './connection/open-database.ts'
import { pragma } from './connection/pragma.ts'
import { takeServiceLock } from './connection/service-lock.ts'
import { translateOpenError } from './connection/sqlite-errors.ts'
import { SqliteBlockedRecipients } from './lanes/blocked-recipients.ts'
import { SqliteChannelConnections, SqliteChannelState } from './lanes/channel-state.ts'
import { LaneTrim } from './lanes/lane-trim.ts'
import { SqliteLanes } from './lanes/lanes.ts'
import { NotificationTrigger } from './lanes/notification-trigger.ts'
import { SqliteNotices } from './lanes/notifications.ts'
import { SendAgainVisits } from './lanes/send-again.ts'
import { ServiceStops } from './lanes/service-stops.ts'
import { SqliteSessionRows } from './lanes/session-rows.ts'
import { UnindexedTail } from './lanes/unindexed-tail.ts'
import { SqliteMediaQueue } from './media/media-queue.ts'
import { SqliteWatchDatabase } from './queries/watch-database.ts'
import { KeySweep } from './retention/key-sweep.ts'
import { SqliteRetention } from './retention/retention.ts'
import { RollbackDetector } from './safety/rollback-detector.ts'

// Every change of a lane is reported. The poll finds only those whose report got lost.
const POLL_EVERY_MS = 10_000
const SWEEP_EVERY_MS = 60_000
const REMEMBER_EVERY_MS = 5_000
// Long enough for a person to see in `nuncio workers` which process ended.
const DEAD_WORKERS_KEPT_MS = 3_600_000
const PROBE = 'probe'
const COUNT_PAUSED = `select count(*) as paused from connection where state = 'paused'`

interface Figures {
  readonly databaseBytes: number
  readonly spoolBytes: number
  readonly pausedConnections: number
  readonly connectionsMade: number
}

interface SqliteStorageOptions {
  /** The database file, or `:memory:` for tests. */
  readonly path: string
  readonly clock: Clock
  readonly limits: IntakeLimits
  /** What can be sent, as `channel/type`. Asked once the channels are made. */
  readonly sendable: () => readonly string[]
  /** The disk can no longer be trusted: the process should end, so that its supervisor starts a fresh one. */
  readonly onBroken: (error: unknown) => void
  /** Maintenance failed; it is retried. */
  readonly onError: (error: unknown) => void
  /** After each commit; must be quick. */
  readonly onCommit?: (committed: {
    readonly operation: 'shared'
    readonly rows: number
    readonly tookMs: number
  }) => void
  /** Hashes erased recipients. Without it no hash is stored. */
  readonly hashRecipient?: HashRecipient
  /** Shown to people. Without it this process has no row of its own in the list of workers. */
  readonly worker?: WorkerFacts
}

interface SqliteStorageEvents {
  /** Reports lanes that another process (the CLI) changed. */
  readonly lanesChanged: (ids: readonly ConnectionId[]) => void
}

/** Everything the service needs of storage, on one SQLite database that only this process serves. */
export class SqliteStorage {
  readonly database: DatabaseSync
  readonly intake: SqliteIntake
  readonly lanes: SqliteLanes
  readonly mediaQueue: SqliteMediaQueue
  readonly notices: SqliteNotices
  readonly watch: Watch
  readonly blocked: SqliteBlockedRecipients
  readonly retention: SqliteRetention
  readonly sessions: SessionRows
  readonly clock: Clock
  readonly pollEveryMs = POLL_EVERY_MS
  readonly health: StorageHealth
  readonly #counts: WaitingCounts
  readonly #onError: (error: unknown) => void
  readonly #worker: WorkerFacts | null
  readonly #commits: GroupCommit
  readonly #directory: Directory
  readonly #tail: UnindexedTail
  /** Null without a file. */
  readonly #memory: RollbackDetector | null = null
  /** Notices commits of other connections. Null without a file. */
  readonly #others: CommitWatch | null = null
  readonly #lock: { release(): void } | null
  readonly #visits: SendAgainVisits
  readonly #keys: KeySweep
  #timers: NodeJS.Timeout[] = []
  #closed = false

  constructor(options: SqliteStorageOptions) {
    this.#lock = options.path === ':memory:' ? null : takeServiceLock(join(dirname(options.path), 'service.lock'))
    try {
      // A wait inside SQLite would block the event loop, so GroupCommit retries instead.
      this.database = openDatabase(options.path, { create: true, busyTimeoutMs: 0 })
    } catch (error) {
      this.#lock?.release()
      throw error
    }
    const { database } = this
    this.clock = options.clock
    this.#onError = options.onError
    this.#worker = options.worker ?? null
    this.health = new StorageHealth(options.clock)
    this.#commits = new GroupCommit(database, this.health, (error) =>
      options.onBroken(translateOpenError(error, options.path)),
    )
    if (options.path !== ':memory:')
      this.#memory = new RollbackDetector(database, CheckpointFile.in(dirname(options.path)))
    const { onCommit } = options
    if (onCommit) this.#commits.join(notifyOfCommits(onCommit))
    this.#directory = new Directory(database)
    if (options.path !== ':memory:') {
      this.#others = new CommitWatch(this.#directory, `${options.path}-wal`)
      this.#commits.join(this.#others)
    }
    this.#tail = new UnindexedTail(database, this.#commits)
    this.blocked = new SqliteBlockedRecipients(database, this.#directory, options.hashRecipient ?? noHash)
    this.#directory.onOthers(() => {
      this.#tail.readNew()
      this.blocked.forget()
    })
    new LaneTrim(database, this.#tail).allFronts()
    this.#counts = new WaitingCounts(database)
    this.#counts.recount()
    this.intake = new SqliteIntake({
      database,
      commits: this.#commits,
      directory: this.#directory,
      counts: this.#counts,
      tail: this.#tail,
      clock: options.clock,
      limits: options.limits,
      sendable: options.sendable,
    })
    // After the intake, which refreshes the directory at the start of each transaction.
    this.#commits.join(new NotificationTrigger(database, this.#directory, () => options.clock.now()))
    this.notices = new SqliteNotices(database, this.#commits, () => options.clock.now())
    this.lanes = new SqliteLanes({
      database,
      commits: this.#commits,
      directory: this.#directory,
      counts: this.#counts,
      tail: this.#tail,
      clock: options.clock,
    })
    this.mediaQueue = new SqliteMediaQueue(database, this.#commits, this.#counts)
    this.watch = createWatch({
      database: new SqliteWatchDatabase({ database, commits: this.#commits, counts: this.#counts }),
      now: () => this.clock.now(),
      limits: options.limits,
    })
    this.sessions = new SqliteSessionRows(database, this.#commits, this.#directory)
    this.retention = new SqliteRetention(database, (run) => this.#commits.submit(run))
    this.#keys = new KeySweep({ database, submit: (run) => this.#commits.submit(run), clock: options.clock })
    this.#visits = new SendAgainVisits({ path: options.path, now: () => options.clock.now() })
  }

  /** True for a data directory that was never set up. */
  async isEmpty(): Promise<boolean> {
    return this.database.prepare('select 1 from account limit 1').get() === undefined
  }

  async hasPeople(): Promise<boolean> {
    return this.database.prepare('select 1 from person limit 1').get() !== undefined
  }

  /** What a start must know of the stored secrets. */
  async readKeyFacts(): Promise<KeyFacts> {
    return toKeyFacts(this.database.prepare(KEY_FACTS).get())
  }

  channelState(channel: string): ChannelState {
    return new SqliteChannelState(this.database, this.#commits, channel)
  }

  channelConnections(channel: string): ChannelConnections {
    return new SqliteChannelConnections(this.database, this.#commits, channel)
  }

  async sendAgain(failed: Parameters<ChannelEvents['sendAgain']>[0]): Promise<MessageId | null> {
    const messageId = await this.#visits.sendAgain(failed)
    // The next poll would find the new message too, a moment later.
    if (messageId && !this.#closed) this.#directory.refresh()
    return messageId
  }

  /** Starts to watch for changes by the command line, and starts maintenance. Call it once. */
  async start({ lanesChanged }: SqliteStorageEvents): Promise<void> {
    const goneBack = await this.#commits.submit(() => {
      this.#takePlace()
      return this.#memory?.compare(this.clock.now()) ?? null
    })
    this.#directory.reloadHold()
    if (goneBack)
      this.#onError(
        new Error(
          `The database is not as it was left: ${goneBack}. All lanes are held. Check what was sent, then: ${commandLine`hold --release`}`,
        ),
      )
    await this.#remember()
    this.#directory.onLanesChanged((ids) => {
      // Reported in a later turn of the event loop, so the storage may be closed already.
      if (this.#closed) return
      for (const id of ids) this.#counts.recountOne(id)
      lanesChanged(ids)
    })
    this.#timers = [
      setInterval(() => void this.#sweep().catch(this.#onError), SWEEP_EVERY_MS),
      setInterval(() => void this.#remember().catch(this.#onError), REMEMBER_EVERY_MS),
    ]
    for (const timer of this.#timers) timer.unref()
    this.#tail.start(this.#onError)
    this.#others?.start()
  }

  /** No other process serves this database. */
  notifyPeers(): void {}

  acceptingProcesses(): number {
    return 1
  }

  waiting(): number {
    return this.#counts.total()
  }

  /** For the metrics. Each figure takes some microseconds. */
  figures(): Figures {
    const [paused] = this.database.prepare(COUNT_PAUSED).all() as { paused: number }[]
    return {
      databaseBytes: pragma(this.database, 'page_count') * pragma(this.database, 'page_size'),
      spoolBytes: this.mediaQueue.spoolBytes,
      pausedConnections: paused?.paused ?? 0,
      connectionsMade: 0,
    }
  }

  /** Enters waiting messages into their lanes, as happens periodically after `start`. */
  enterLanes(): Promise<void> {
    return this.#tail.enter()
  }

  /**
   * True when a row can be written to the disk right now and nothing was rejected in the last seconds: a full disk may
   * still take a small row when it no longer takes a message.
   */
  async isWritable(): Promise<boolean> {
    try {
      await this.#commits.submit(() => {
        this.database.prepare('insert into worker (id, heartbeat_until) values (?, 0)').run(PROBE)
        this.database.prepare('delete from worker where id = ?').run(PROBE)
      })
      return this.health.error === null
    } catch (error) {
      if (error instanceof StorageUnavailable) return false
      throw error
    }
  }

  /** May be called twice. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const timer of this.#timers) clearInterval(timer)
    this.#others?.stop()
    this.#tail.stop()
    this.#keys.stop()
    // A copy made a moment ago must be older than the checkpoint.
    const remembered = this.#timers.length > 0 ? this.#remember().catch(() => {}) : null
    this.#commits.flush()
    await remembered
    await this.#visits.close()
    this.database.close()
    this.#lock?.release()
  }

  /**
   * This process holds the lock of the data directory, so all earlier workers are dead. Their lanes and the retention lease
   * are free at once, before their leases expire. Our own row gets its first heartbeat when dispatching begins.
   */
  #takePlace(): void {
    const now = this.clock.now()
    if (this.#worker?.roles.includes('dispatch')) new ServiceStops(this.database).started(now)
    this.database.exec('delete from worker; update retention_state set swept_until = 0')
    if (!this.#worker) return
    const { host, pid, roles, version } = toWorkerRow(this.#worker)
    this.database
      .prepare(
        'insert into worker (id, heartbeat_until, host, pid, roles, version, started_at) values (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(this.#worker.id, now, host, pid, roles, version, now)
  }

  async #remember(): Promise<void> {
    const memory = this.#memory
    if (!memory) return
    await this.#commits.submit(() => memory.moveOn())
    this.#others?.wrote()
    await memory.keep()
  }

  /** Deletes lane changes that were noticed, workers that died long ago, and expired idempotency keys. */
  async #sweep(): Promise<void> {
    const now = this.clock.now()
    await this.#commits.submit(() => {
      // The newest stays, because the next one must get a higher position. Otherwise it would count as seen.
      this.database.exec('delete from lane_change where position < (select max(position) from lane_change)')
      this.database
        .prepare(
          'delete from worker where heartbeat_until < ? and id <> ? and not exists (select 1 from lane where owner = worker.id)',
        )
        .run(now - DEAD_WORKERS_KEPT_MS, this.#worker?.id ?? '')
    })
    await this.#keys.sweep()
  }
}

function notifyOfCommits(onCommit: NonNullable<SqliteStorageOptions['onCommit']>): Participant {
  return {
    begin: () => {},
    committed: (tookMs, rows) => onCommit({ operation: 'shared', rows, tookMs }),
    rolledBack: () => {},
  }
}
