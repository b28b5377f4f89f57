import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { ConnectionId } from '../../core/ids.ts'
import type { ChannelMemory } from '../../core/ports/channel-memory.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { IDEMPOTENCY_KEPT_MS, type IntakeLimits, SqliteIntake } from './accept.ts'
import { SqliteChannelMemory } from './channel-memory.ts'
import { Directory } from './directory.ts'
import { GroupCommit } from './group-commit.ts'
import { LaneTail } from './lane-tail.ts'
import { LaneTrim } from './lane-trim.ts'
import { SqliteLanes } from './lanes.ts'
import { SqliteMediaQueue } from './media-queue.ts'
import { openDatabase } from './open-database.ts'
import { takeServiceLock } from './service-lock.ts'
import { translateOpenError } from './sqlite-errors.ts'
import { WaitingCounts } from './waiting-counts.ts'

// How soon the service sees what the CLI changed while nothing else happens. One look costs a microsecond.
const LOOK_FOR_CHANGES_EVERY_MS = 100
const IDEMPOTENCY_SWEEP_LIMIT = 1_000
const TROUBLE_REMEMBERED_MS = 3_000
const PROBE = 'probe'

export interface SqliteStorageOptions {
  /** The database file, or `:memory:` for tests. */
  readonly path: string
  readonly clock: Clock
  readonly limits: IntakeLimits
  readonly refusedByChannel: ConstructorParameters<typeof SqliteIntake>[0]['refusedByChannel']
  /** The disk can no longer be trusted: the process should end, so that its supervisor starts a fresh one. */
  readonly onBroken: (error: unknown) => void
}

/** Everything the service needs of storage, on one SQLite database that only this process serves. */
export class SqliteStorage {
  readonly database: DatabaseSync
  readonly intake: SqliteIntake
  readonly lanes: SqliteLanes
  readonly mediaQueue: SqliteMediaQueue
  readonly counts: WaitingCounts
  readonly #commits: GroupCommit
  readonly #directory: Directory
  readonly #tail: LaneTail
  readonly #lock: { release(): void } | null
  #looking: NodeJS.Timeout | null = null
  #closed = false

  constructor(options: SqliteStorageOptions) {
    this.#lock = options.path === ':memory:' ? null : takeServiceLock(lockPath(options.path))
    try {
      // Never waits inside a call: that would stop the event loop. GroupCommit looks again instead.
      this.database = openDatabase(options.path, { create: true, busyTimeoutMs: 0 })
    } catch (error) {
      this.#lock?.release()
      throw error
    }
    const { database } = this
    this.#commits = new GroupCommit(database, (error) => options.onBroken(translateOpenError(error, options.path)))
    this.#directory = new Directory(database)
    this.#tail = new LaneTail(database, this.#commits)
    this.#directory.onOthers(() => this.#tail.noticeOthers())
    new LaneTrim(database, this.#tail).allFronts()
    this.counts = new WaitingCounts(database)
    this.counts.recount()
    this.intake = new SqliteIntake({
      database,
      commits: this.#commits,
      directory: this.#directory,
      counts: this.counts,
      tail: this.#tail,
      clock: options.clock,
      limits: options.limits,
      refusedByChannel: options.refusedByChannel,
    })
    this.lanes = new SqliteLanes({
      database,
      commits: this.#commits,
      directory: this.#directory,
      counts: this.counts,
      tail: this.#tail,
    })
    this.mediaQueue = new SqliteMediaQueue(database, this.#commits, this.counts)
  }

  /** True on a data directory that nobody has set up. */
  isEmpty(): boolean {
    return this.database.prepare('select 1 from account limit 1').get() === undefined
  }

  channelMemory(channel: string): ChannelMemory {
    return new SqliteChannelMemory(this.database, this.#commits, channel)
  }

  /**
   * We hold the lock of the data directory, so every worker of before is dead: their lanes are free at once, without
   * waiting for their claims to run out.
   */
  async forgetDeadWorkers(): Promise<void> {
    await this.#commits.submit(() => this.database.exec('delete from worker'))
  }

  /** Enters what still waits into its lane. To be called a few times a second. */
  enterLanes(): Promise<void> {
    return this.#tail.enter()
  }

  /** Tells of lanes that another process (the CLI) changed. */
  watchLanes(call: (ids: readonly ConnectionId[]) => void): void {
    this.#directory.onLanesChanged((ids) => {
      for (const id of ids) this.counts.recountOne(id)
      call(ids)
    })
    this.#looking = setInterval(() => this.#directory.refresh(), LOOK_FOR_CHANGES_EVERY_MS)
    this.#looking.unref()
  }

  /**
   * True when a row can be written to the disk right now and nothing was turned away in the last seconds: a full disk
   * may still take a small row where it no longer takes a message.
   */
  async isWritable(): Promise<boolean> {
    try {
      await this.#commits.submit(() => {
        this.database.prepare('insert into worker (id, heartbeat_until) values (?, 0)').run(PROBE)
        this.database.prepare('delete from worker where id = ?').run(PROBE)
      })
      return this.#commits.msSinceRefusal > TROUBLE_REMEMBERED_MS
    } catch (error) {
      if (error instanceof StorageUnavailable) return false
      throw error
    }
  }

  /** Forgets, a batch at a time, idempotency keys whose time is over, and the lane changes that were noticed. */
  async sweep(now: number): Promise<void> {
    await this.#commits.submit(() => {
      this.database
        .prepare(
          'delete from idempotency where (account_id, key) in (select account_id, key from idempotency where accepted_at < ? limit ?)',
        )
        .run(now - IDEMPOTENCY_KEPT_MS, IDEMPOTENCY_SWEEP_LIMIT)
      // The newest stays: the next one must get a higher position, or it would be taken for one already seen.
      this.database.exec('delete from lane_change where position < (select max(position) from lane_change)')
    })
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    if (this.#looking) clearInterval(this.#looking)
    this.#commits.flush()
    this.database.close()
    this.#lock?.release()
  }
}

function lockPath(databasePath: string): string {
  return join(databasePath, '..', 'service.lock')
}
