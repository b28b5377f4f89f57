import type { AcceptResult, Candidate } from '../../../core/ports/intake.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { CoalescingWindow } from '../connection/batcher.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import { StatementRefused, StorageDamaged } from '../connection/pg-connection.ts'
import type { BatchResult, LockPolicy } from './accept-batch.ts'
import { ContendedLocks } from './contended-locks.ts'

// Half of a block of 1,024 sequence numbers. More would save little: the fixed cost of a batch is that of some 15 rows.
const MOST_PER_BATCH = 512
// A body may have 64 KiB, and several copies of a batch exist while it is sent and written.
const MOST_CHARACTERS_PER_BATCH = 4_000_000

// Two batches at the server have mostly the same lanes, so one of them waits for the locks of the other. A small batch therefore
// loses nothing by waiting here, and is larger when it goes. The batch before it takes 2 to 5 ms.
const MIN_PER_CONNECTION = 128
const LINGER_MS = 8

// How long the locks of another process are awaited. Even with a slow disk its batch commits in less.
const WAIT_LOCK_MS = 500
// While a contended lock is known, other batches that may meet it wait less.
const CONTENDED_LOCK_MS = 100
const SKIP_LOCK_MS = 40
const PROBE_AGAIN_AFTER_MS = 40
// A lane that another process keeps busy is never free within that, where each commit takes longer. A request that has waited so long
// queues for the lock as that process does. One connection remains for the others.
const QUEUE_FOR_LOCK_AFTER_MS = 1_000

// After 5 s the caller is answered that the result is unknown. A request that is sent to the database too late could not get its
// result in time, so one that has waited 3 s is answered `not_accepted`.
const SEND_WITHIN_MS = 3_000
const CHECK_OVERDUE_EVERY_MS = 500
const RECONNECT_AFTER_MS = 100

interface Job {
  readonly candidate: Candidate
  readonly since: number
  readonly resolve: (result: AcceptResult) => void
  readonly reject: (error: unknown) => void
}

/** A job and the result that its caller has not been given yet. */
interface Answer {
  readonly job: Job
  readonly result: AcceptResult
}

type BatchContext = LockPolicy & { readonly connection: FencedConnection }

export interface AcceptQueueParts {
  /** One batch is on its way over each of them. */
  readonly connections: readonly FencedConnection[]
  /** Writes all of them or none. One result for each, in the same order. */
  readonly run: (candidates: readonly Candidate[], context: BatchContext) => Promise<readonly BatchResult[]>
  /** Called when a request was rejected for a reason that concerns all requests, not for a lock of its lane or token. */
  readonly onError: (error: StorageUnavailable) => void
}

/**
 * Decides which requests share a batch, and when it is sent.
 *
 *   FRESH ──(end of turn, a connection is free)──▶ a batch that waits for locks ──▶ answered
 *     ▲                                               │ a lock timed out
 *     │ accepted                                      ▼
 *   BLOCKED ◀──(its own lock is taken)──── a batch that skips locks ──▶ answered
 *     └──────────(a few of them, regularly)───────────▲
 *   both ── 3 s are over ──▶ not accepted
 *
 * It is no `Batcher`: here a row that waits for a lock or for too long leaves its batch, and the others go on.
 *
 * - A small batch waits a little for the one before it, see `CoalescingWindow`.
 * - A blocked request stays apart from the others, so that a lock which is held for long does not delay them.
 * - A connection is made before requests are taken for it, and a batch is encoded and sent in the same turn. So a request that was
 *   not taken is certainly not accepted.
 */
export class AcceptQueue {
  readonly #parts: AcceptQueueParts
  readonly #contended = new ContendedLocks()
  readonly #free: number[]
  readonly #window = new CoalescingWindow(LINGER_MS, () => this.#schedule())
  #fresh: Job[] = []
  #blocked: Job[] = []
  #isProbing = false
  #isScheduled = false
  #isWatching = false
  #onIdle: (() => void)[] = []

  constructor(parts: AcceptQueueParts) {
    this.#parts = parts
    this.#free = parts.connections.map((_, index) => parts.connections.length - 1 - index)
  }

  /** Rejects only for what cannot be written at all. */
  submit(candidate: Candidate): Promise<AcceptResult> {
    return new Promise((resolve, reject) => {
      const since = performance.now()
      const queue = this.#contended.isContended(candidate, since) ? this.#blocked : this.#fresh
      queue.push({ candidate, since, resolve, reject })
      this.#schedule()
      this.#watch()
    })
  }

  /** Resolves once no batch is on its way. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle.push(resolve)
      this.#resolveIdle()
    })
  }

  #resolveIdle(): void {
    if (this.#fresh.length + this.#blocked.length > 0 || this.#free.length < this.#parts.connections.length) return
    for (const resolve of this.#onIdle.splice(0)) resolve()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#free.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#start()
    })
  }

  #start(): void {
    for (;;) {
      const isProbe = this.#blocked.length > 0 && !this.#isProbing
      if (!isProbe && (this.#fresh.length === 0 || this.#lingers())) return
      const index = this.#free.pop()
      if (index === undefined) return
      if (!this.#connection(index).pgConnection.isConnected) void this.#connect(index)
      else if (isProbe) void this.#probe(index)
      else void this.#sendBatch(index)
    }
  }

  #lingers(): boolean {
    const isOneOnItsWay = this.#free.length < this.#parts.connections.length
    return isOneOnItsWay && this.#fresh.length < MIN_PER_CONNECTION && this.#window.isOpen()
  }

  async #connect(index: number): Promise<void> {
    try {
      await this.#connection(index).pgConnection.connect()
    } catch (error) {
      if (this.#parts.connections.some(({ pgConnection }) => pgConnection.isConnected)) {
        setTimeout(() => this.#release(index), RECONNECT_AFTER_MS)
        return
      }
      this.#rejectAll([...this.#fresh, ...this.#blocked], error)
      this.#fresh = []
      this.#blocked = []
    }
    this.#release(index)
  }

  async #sendBatch(index: number): Promise<void> {
    this.#window.noteStart()
    const count = countForBatch(this.#fresh)
    const taken = this.#fresh.slice(0, count)
    this.#fresh = this.#fresh.slice(count)
    const lockMs = this.#contended.isEmpty(performance.now()) ? WAIT_LOCK_MS : CONTENDED_LOCK_MS
    const connection = this.#connection(index)
    const answers = await this.#execute(this.#dropExpired(taken), { connection, waitsForLocks: true, lockMs })
    this.#release(index, answers)
  }

  /** Tries some of the blocked requests. One batch at a time, so that one connection is always left for the others. */
  async #probe(index: number): Promise<void> {
    this.#isProbing = true
    const { probes, others } = this.#contended.split(this.#dropExpired(this.#blocked), MOST_PER_BATCH)
    this.#blocked = others
    const connection = this.#connection(index)
    const lateBefore = performance.now() - QUEUE_FOR_LOCK_AFTER_MS
    const lockMs = probes.some(({ since }) => since < lateBefore) ? WAIT_LOCK_MS : SKIP_LOCK_MS
    const answers = await this.#execute(probes, { connection, waitsForLocks: false, lockMs })
    setTimeout(() => {
      this.#isProbing = false
      this.#schedule()
    }, PROBE_AGAIN_AFTER_MS)
    this.#release(index, answers)
  }

  /** The next batch goes first: the database works on it while the answers of this one are written. */
  #release(index: number, answers: readonly Answer[] = []): void {
    this.#free.push(index)
    this.#start()
    resolveAll(answers)
    this.#resolveIdle()
  }

  /** Resolves to the answers that are still to be given. Never rejects. */
  async #execute(jobs: readonly Job[], context: BatchContext): Promise<readonly Answer[]> {
    if (jobs.length === 0) return []
    try {
      const results = await this.#parts.run(
        jobs.map((job) => job.candidate),
        context,
      )
      return this.#sort(jobs, results, context)
    } catch (error) {
      await this.#handleBatchError(jobs, context, error)
      return []
    }
  }

  /** After the database has refused the whole batch. */
  async #handleBatchError(jobs: readonly Job[], context: BatchContext, error: unknown): Promise<void> {
    const kind = error instanceof StorageDamaged ? 'damaged' : error instanceof StatementRefused ? error.kind : null
    if (kind === null) return this.#rejectAll(jobs, error)
    if (kind === 'contended' && context.waitsForLocks) {
      const skipping = { ...context, waitsForLocks: false, lockMs: SKIP_LOCK_MS }
      resolveAll(await this.#execute(this.#dropExpired(jobs), skipping))
      return
    }
    if (jobs.length === 1) {
      if (kind === 'data') return this.#rejectAll(jobs, error)
      if (kind === 'damaged') {
        for (const job of jobs) job.resolve({ kind: 'unavailable', code: 'not_accepted' })
        return
      }
      for (const { candidate } of jobs) this.#contended.note(candidate, 'lane', performance.now())
      return this.#requeue(jobs)
    }
    // One bad row never fails the others, and neither does a key that another transaction is just claiming.
    const middle = jobs.length >> 1
    resolveAll(await this.#execute(this.#dropExpired(jobs.slice(0, middle)), context))
    resolveAll(await this.#execute(this.#dropExpired(jobs.slice(middle)), context))
  }

  /** Puts what was not decided back into the queues, and returns the answers to the rest. */
  #sort(jobs: readonly Job[], results: readonly BatchResult[], { waitsForLocks }: LockPolicy): readonly Answer[] {
    const now = performance.now()
    const blocked: Job[] = []
    const undecided: Job[] = []
    const answers: Answer[] = []
    for (const [at, job] of jobs.entries()) {
      const result = results[at] as BatchResult
      if (result.kind === 'blocked') {
        this.#contended.note(job.candidate, result.by, now)
        blocked.push(job)
        continue
      }
      if (!waitsForLocks) this.#contended.forget(job.candidate)
      if (result.kind === 'undecided') undecided.push(job)
      else answers.push({ job, result })
    }
    this.#requeue(blocked)
    if (!waitsForLocks) this.#releaseUnblocked(now)
    if (undecided.length > 0) this.#fresh = [...this.#dropExpired(undecided), ...this.#fresh]
    return answers
  }

  /** Before the blocked requests that came later. */
  #requeue(jobs: readonly Job[]): void {
    const waiting = this.#dropExpired(jobs)
    if (waiting.length > 0) this.#blocked = [...waiting, ...this.#blocked]
  }

  /** When one request of a lane was decided, its lock is free for the others. */
  #releaseUnblocked(now: number): void {
    const { yes = [], no = [] } = Object.groupBy(this.#blocked, (job) =>
      this.#contended.isContended(job.candidate, now) ? 'yes' : 'no',
    )
    if (no.length === 0) return
    this.#blocked = yes
    this.#fresh = [...no, ...this.#fresh]
  }

  /** Answers the requests that have waited for too long, and returns the others. */
  #dropExpired(jobs: readonly Job[]): readonly Job[] {
    const overdueBefore = performance.now() - SEND_WITHIN_MS
    if (jobs.every((job) => job.since > overdueBefore)) return jobs
    for (const job of jobs) {
      if (job.since > overdueBefore) continue
      if (!this.#contended.isContended(job.candidate, performance.now()))
        this.#parts.onError(new StorageUnavailable('the database does not answer in time', false))
      job.resolve({ kind: 'unavailable', code: 'not_accepted' })
    }
    return jobs.filter((job) => job.since > overdueBefore)
  }

  #rejectAll(jobs: readonly Job[], error: unknown): void {
    if (!(error instanceof StorageUnavailable)) {
      for (const job of jobs) job.reject(error)
      return
    }
    this.#parts.onError(error)
    for (const job of jobs)
      job.resolve({ kind: 'unavailable', code: error.unknown ? 'commit_unknown' : 'not_accepted' })
  }

  #watch(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    setTimeout(() => {
      this.#isWatching = false
      this.#fresh = [...this.#dropExpired(this.#fresh)]
      this.#blocked = [...this.#dropExpired(this.#blocked)]
      if (this.#fresh.length + this.#blocked.length > 0) this.#watch()
      else this.#resolveIdle()
    }, CHECK_OVERDUE_EVERY_MS)
  }

  #connection(index: number): FencedConnection {
    return this.#parts.connections[index] as FencedConnection
  }
}

function resolveAll(answers: readonly Answer[]): void {
  for (const { job, result } of answers) job.resolve(result)
}

function countForBatch(jobs: readonly Job[]): number {
  let characters = 0
  for (const [at, { candidate }] of jobs.entries()) {
    characters += candidate.body.length
    if (at === MOST_PER_BATCH || (at > 0 && characters > MOST_CHARACTERS_PER_BATCH)) return at
  }
  return jobs.length
}
