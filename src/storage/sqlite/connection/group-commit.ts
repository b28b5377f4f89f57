import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import type { StorageHealth } from '../../queries/storage-health.ts'
import { storageError, whyNotWritten } from './sqlite-errors.ts'

// A commit costs one flush of the disk whatever it holds, so more jobs per commit are cheaper. But every job waits for
// the last one. At a few microseconds a row this bounds that wait to a few milliseconds.
const MOST_JOBS_PER_COMMIT = 1_024

// The CLI writes beside the service and locks the database for milliseconds. We retry this often, because a wait inside
// SQLite would block the whole event loop.
const BUSY_RETRY_MS = 3
const BUSY_GIVE_UP_MS = 5_000

interface Job {
  /** Runs inside the transaction. May run again after a rollback, so it changes nothing but the database. */
  readonly run: () => unknown
  readonly resolve: (value: never) => void
  readonly reject: (error: unknown) => void
}

/** Takes part in each commit. */
export interface Participant {
  /** At the start of a transaction, before the first job. */
  begin(): void
  /** After the commit reached the disk. `jobs`: how many shared it. */
  committed(tookMs: number, jobs: number): void
  rolledBack(): void
}

/**
 * Lets all writes of one turn of the event loop share one durable commit.
 *
 *   submit ──▶ queued ──(end of turn)──▶ one transaction ──▶ resolved
 *                 ▲                           │ a job throws: rolled back, and tried again without that job
 *                 └── database busy ──────────┤ disk full: all of it rejected, nothing written
 *                                             └ disk broken: rejected as unknown, and never used again
 */
export class GroupCommit {
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #database: DatabaseSync
  readonly #participants: Participant[] = []
  readonly #onBroken: (error: unknown) => void
  readonly #health: StorageHealth
  #queue: Job[] = []
  #scheduled = false
  #busySince: number | null = null
  #broken: Error | null = null

  constructor(database: DatabaseSync, health: StorageHealth, onBroken: (error: unknown) => void) {
    this.#database = database
    this.#health = health
    this.#begin = database.prepare('begin immediate')
    this.#commit = database.prepare('commit')
    this.#rollback = database.prepare('rollback')
    this.#onBroken = onBroken
  }

  join(participant: Participant): void {
    this.#participants.push(participant)
  }

  /**
   * Runs `run` in the next shared transaction. Resolves with its result after the commit reached the disk. Rejects
   * with what it threw (nothing of it is written then), or with StorageUnavailable.
   */
  submit<Result>(run: () => Result): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#queue.push({ run, resolve, reject })
      this.#schedule()
    })
  }

  /** Commits what is queued now, without waiting for the end of the turn. */
  flush(): void {
    this.#scheduled = false
    while (this.#queue.length > 0) {
      const jobs = this.#queue.length <= MOST_JOBS_PER_COMMIT ? this.#queue : this.#queue.slice(0, MOST_JOBS_PER_COMMIT)
      const rest = jobs === this.#queue ? [] : this.#queue.slice(MOST_JOBS_PER_COMMIT)
      this.#queue = rest
      if (!this.#run(jobs)) return
      if (rest.length > 0) {
        this.#schedule()
        return
      }
    }
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.flush())
  }

  /** False when the database was busy and the jobs are back in the queue. */
  #run(jobs: Job[]): boolean {
    if (this.#broken) {
      this.#reject(jobs, new StorageUnavailable('the database failed before', false, { cause: this.#broken }))
      return true
    }
    const started = performance.now()
    try {
      this.#begin.run()
    } catch (error) {
      return this.#couldNotBegin(jobs, error)
    }
    this.#busySince = null
    const results = this.#runJobs(jobs)
    if (!results) return true
    try {
      this.#commit.run()
    } catch (error) {
      this.#rollBack()
      this.#refuse(jobs, error, storageError(error) !== 'full' && storageError(error) !== 'busy')
      return true
    }
    const tookMs = performance.now() - started
    this.#health.wrote()
    for (const participant of this.#participants) participant.committed(tookMs, jobs.length)
    for (let i = 0; i < jobs.length; i++) jobs[i]?.resolve(results[i] as never)
    return true
  }

  /** Null when the transaction was rolled back: each job was rejected or queued again. */
  #runJobs(jobs: readonly Job[]): unknown[] | null {
    const results: unknown[] = new Array(jobs.length)
    let at = -1
    try {
      for (const participant of this.#participants) participant.begin()
      for (at = 0; at < jobs.length; at++) results[at] = jobs[at]?.run()
      return results
    } catch (error) {
      this.#rollBack()
      const guilty = jobs[at]
      if (storageError(error) !== null || !guilty) this.#refuse(jobs, error, false)
      else {
        // One bad row never fails the others: they run again without it.
        guilty.reject(error)
        this.#queue = [...jobs.filter((job) => job !== guilty), ...this.#queue]
        this.#schedule()
      }
      return null
    }
  }

  #couldNotBegin(jobs: Job[], error: unknown): boolean {
    if (storageError(error) === 'busy') {
      this.#busySince ??= performance.now()
      if (performance.now() - this.#busySince < BUSY_GIVE_UP_MS) {
        this.#queue = [...jobs, ...this.#queue]
        this.#scheduled = true
        setTimeout(() => this.flush(), BUSY_RETRY_MS)
        return false
      }
    }
    this.#refuse(jobs, error, false)
    return true
  }

  #rollBack(): void {
    try {
      if (this.#database.isTransaction) this.#rollback.run()
    } catch (error) {
      this.#break(error)
    }
    for (const participant of this.#participants) participant.rolledBack()
  }

  /** `unknown`: the commit itself failed, and what was written may yet be found after a restart. */
  #refuse(jobs: readonly Job[], error: unknown, unknown: boolean): void {
    if (storageError(error) === 'broken' || unknown) this.#break(error)
    this.#reject(jobs, new StorageUnavailable(whyNotWritten(error), unknown, { cause: error }))
  }

  #reject(jobs: readonly Job[], error: StorageUnavailable): void {
    this.#health.failed(error)
    for (const job of jobs) job.reject(error)
  }

  /**
   * After an I/O error it is unknown which pages reached the disk. The system may have dropped the error with the page,
   * so a second flush can succeed without having written it. This process therefore never writes again.
   */
  #break(error: unknown): void {
    if (this.#broken) return
    this.#broken = error instanceof Error ? error : new Error(String(error))
    this.#onBroken(error)
  }
}
