import type { AcceptResult, Candidate } from '../../../core/ports/intake.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { CoalescingWindow } from '../connection/coalescing-window.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import { StatementRefused, StorageDamaged } from '../connection/pg-connection.ts'
import type { LockPolicy, Verdict } from './accept-batch.ts'
import { ContendedLocks } from './contended-locks.ts'

// Half of a block of 1,024 sequence numbers. More would save little: the fixed cost of a batch is that of some 15 rows.
const MOST_PER_BATCH = 512
// A body may have 64 KiB, and a batch is held several times over while it is sent and written.
const MOST_CHARACTERS_PER_BATCH = 4_000_000

// Of two batches that are on their way one mostly waits for the other, which has the same lanes: so few lose nothing by
// waiting for it here, and are more when they go. It takes 2 to 5 ms.
const WORTH_A_BATCH = 128
const GATHER_MS = 8

// A batch of another process is waited for that long; even with a slow disk it commits in less.
const WAIT_LOCK_MS = 500
// While somebody is known to hold a lock, others whom it may hit as well wait for less.
const CONTENDED_LOCK_MS = 100
const SKIP_LOCK_MS = 40
const PROBE_AGAIN_AFTER_MS = 40

// The caller hears after 5 s that the fate is unknown. Nothing may be handed over when there is no time left to learn
// its fate, so what has waited that long is refused as what it is: not accepted.
const HANDED_OVER_WITHIN_MS = 3_000
const LOOK_FOR_OVERDUE_EVERY_MS = 500
const CONNECT_AGAIN_AFTER_MS = 100

interface Job {
  readonly candidate: Candidate
  readonly since: number
  readonly resolve: (result: AcceptResult) => void
  readonly reject: (error: unknown) => void
}

/** What is still to be told. */
interface Answer {
  readonly job: Job
  readonly result: AcceptResult
}

type How = LockPolicy & { readonly slot: FencedConnection }

export interface AcceptQueueParts {
  /** One batch is on its way over each of them. */
  readonly slots: readonly FencedConnection[]
  /** Writes all of them or none. One verdict for each, in the same order. */
  readonly run: (candidates: readonly Candidate[], how: How) => Promise<readonly Verdict[]>
  /** Something was turned away, and not because somebody holds its lane or its token: it would be so for all. */
  readonly onError: (error: StorageUnavailable) => void
}

/**
 * Decides who goes to the database together, and when.
 *
 *   FRESH ──(end of turn, a way is free)──▶ a patient batch ──▶ answered
 *     ▲                                        │ a lock is taken for too long
 *     │ got through                            ▼
 *   HINDERED ◀──(its own lock is taken)── an impatient batch ──▶ answered
 *     └──────────(a few now and then)──────────▲
 *   both ── 3 s are over ──▶ not accepted
 *
 * - Few wait a little for the batch before them, see `Gathering`.
 * - Who is found to be hindered goes apart from then on: a lock that somebody holds for long must not stop the others.
 * - A way is connected before anybody is taken for it, and a batch is encoded and sent in the same turn. So whoever has
 *   not been taken is surely not accepted.
 */
export class AcceptQueue {
  readonly #parts: AcceptQueueParts
  readonly #taken = new ContendedLocks()
  readonly #free: number[]
  readonly #gathering = new CoalescingWindow(GATHER_MS, () => this.#schedule())
  #fresh: Job[] = []
  #blocked: Job[] = []
  #isProbing = false
  #isScheduled = false
  #isWatching = false
  #onIdle: (() => void)[] = []

  constructor(parts: AcceptQueueParts) {
    this.#parts = parts
    this.#free = parts.slots.map((_, way) => parts.slots.length - 1 - way)
  }

  /** Rejects only for what cannot be written at all. */
  submit(candidate: Candidate): Promise<AcceptResult> {
    return new Promise((resolve, reject) => {
      const since = performance.now()
      const queue = this.#taken.markContended(candidate, since) ? this.#blocked : this.#fresh
      queue.push({ candidate, since, resolve, reject })
      this.#schedule()
      this.#watch()
    })
  }

  /** Resolves once nothing is on its way any more. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle.push(resolve)
      this.#resolveIdle()
    })
  }

  #resolveIdle(): void {
    if (this.#fresh.length + this.#blocked.length > 0 || this.#free.length < this.#parts.slots.length) return
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
      if (!isProbe && (this.#fresh.length === 0 || this.#gathers())) return
      const way = this.#free.pop()
      if (way === undefined) return
      if (!this.#slot(way).link.isConnected) void this.#connect(way)
      else if (isProbe) void this.#probe(way)
      else void this.#goOver(way)
    }
  }

  #gathers(): boolean {
    const isOneOnItsWay = this.#free.length < this.#parts.slots.length
    return isOneOnItsWay && this.#fresh.length < WORTH_A_BATCH && this.#gathering.isOn()
  }

  async #connect(way: number): Promise<void> {
    try {
      await this.#slot(way).link.connect()
    } catch (error) {
      if (this.#parts.slots.some(({ link }) => link.isConnected)) {
        setTimeout(() => this.#release(way), CONNECT_AGAIN_AFTER_MS)
        return
      }
      this.#turnAway([...this.#fresh, ...this.#blocked], error)
      this.#fresh = []
      this.#blocked = []
    }
    this.#release(way)
  }

  async #goOver(way: number): Promise<void> {
    this.#gathering.noteStart()
    const count = countForBatch(this.#fresh)
    const taken = this.#fresh.slice(0, count)
    this.#fresh = this.#fresh.slice(count)
    const lockMs = this.#taken.isEmpty(performance.now()) ? WAIT_LOCK_MS : CONTENDED_LOCK_MS
    const answers = await this.#carry(this.#stillWanted(taken), { slot: this.#slot(way), waitsForLocks: true, lockMs })
    this.#release(way, answers)
  }

  /** Whether those may go whose locks were taken. One batch at a time, so that one way is always for the others. */
  async #probe(way: number): Promise<void> {
    this.#isProbing = true
    const { probes, others } = this.#taken.split(this.#stillWanted(this.#blocked), MOST_PER_BATCH)
    this.#blocked = others
    const answers = await this.#carry(probes, { slot: this.#slot(way), waitsForLocks: false, lockMs: SKIP_LOCK_MS })
    setTimeout(() => {
      this.#isProbing = false
      this.#schedule()
    }, PROBE_AGAIN_AFTER_MS)
    this.#release(way, answers)
  }

  /** The next batch goes first: the database works on it while the answers of this one are written. */
  #release(way: number, answers: readonly Answer[] = []): void {
    this.#free.push(way)
    this.#start()
    tell(answers)
    this.#resolveIdle()
  }

  /** Resolves to who is still to be told what. Never rejects. */
  async #carry(jobs: readonly Job[], how: How): Promise<readonly Answer[]> {
    if (jobs.length === 0) return []
    try {
      const results = await this.#parts.run(
        jobs.map((job) => job.candidate),
        how,
      )
      return this.#settle(jobs, results, how)
    } catch (error) {
      await this.#carryOn(jobs, how, error)
      return []
    }
  }

  /** After the batch was refused as a whole. */
  async #carryOn(jobs: readonly Job[], how: How, error: unknown): Promise<void> {
    const kind = error instanceof StorageDamaged ? 'damaged' : error instanceof StatementRefused ? error.kind : null
    if (kind === null) return this.#turnAway(jobs, error)
    if (kind === 'contended' && how.waitsForLocks) {
      tell(await this.#carry(this.#stillWanted(jobs), { ...how, waitsForLocks: false, lockMs: SKIP_LOCK_MS }))
      return
    }
    if (jobs.length === 1) {
      if (kind === 'data') return this.#turnAway(jobs, error)
      if (kind === 'damaged') {
        for (const job of jobs) job.resolve({ kind: 'unavailable', code: 'not_accepted' })
        return
      }
      for (const { candidate } of jobs) this.#taken.note(candidate, 'lane', performance.now())
      return this.#standBack(jobs)
    }
    // One bad row never fails the others, and neither does a key that somebody else is just binding.
    const middle = jobs.length >> 1
    tell(await this.#carry(this.#stillWanted(jobs.slice(0, middle)), how))
    tell(await this.#carry(this.#stillWanted(jobs.slice(middle)), how))
  }

  #settle(jobs: readonly Job[], results: readonly Verdict[], { waitsForLocks }: LockPolicy): readonly Answer[] {
    const now = performance.now()
    const blocked: Job[] = []
    const undecided: Job[] = []
    const answers: Answer[] = []
    for (const [at, job] of jobs.entries()) {
      const result = results[at] as Verdict
      if (result.kind === 'hindered') {
        this.#taken.note(job.candidate, result.by, now)
        blocked.push(job)
        continue
      }
      if (!waitsForLocks) this.#taken.forget(job.candidate)
      if (result.kind === 'undecided') undecided.push(job)
      else answers.push({ job, result })
    }
    this.#standBack(blocked)
    if (!waitsForLocks) this.#freeHindered(now)
    if (undecided.length > 0) this.#fresh = [...this.#stillWanted(undecided), ...this.#fresh]
    return answers
  }

  /** Before those who came after them. */
  #standBack(jobs: readonly Job[]): void {
    const wanted = this.#stillWanted(jobs)
    if (wanted.length > 0) this.#blocked = [...wanted, ...this.#blocked]
  }

  /** One of them got through, so the others of its lane will. */
  #freeHindered(now: number): void {
    const { yes = [], no = [] } = Object.groupBy(this.#blocked, (job) =>
      this.#taken.markContended(job.candidate, now) ? 'yes' : 'no',
    )
    if (no.length === 0) return
    this.#blocked = yes
    this.#fresh = [...no, ...this.#fresh]
  }

  /** Answers those who have waited for too long, and returns the others. */
  #stillWanted(jobs: readonly Job[]): readonly Job[] {
    const overdueBefore = performance.now() - HANDED_OVER_WITHIN_MS
    if (jobs.every((job) => job.since > overdueBefore)) return jobs
    for (const job of jobs) {
      if (job.since > overdueBefore) continue
      if (!this.#taken.markContended(job.candidate, performance.now()))
        this.#parts.onError(new StorageUnavailable('the database does not answer in time', false))
      job.resolve({ kind: 'unavailable', code: 'not_accepted' })
    }
    return jobs.filter((job) => job.since > overdueBefore)
  }

  #turnAway(jobs: readonly Job[], error: unknown): void {
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
      this.#fresh = [...this.#stillWanted(this.#fresh)]
      this.#blocked = [...this.#stillWanted(this.#blocked)]
      if (this.#fresh.length + this.#blocked.length > 0) this.#watch()
      else this.#resolveIdle()
    }, LOOK_FOR_OVERDUE_EVERY_MS)
  }

  #slot(way: number): FencedConnection {
    return this.#parts.slots[way] as FencedConnection
  }
}

function tell(answers: readonly Answer[]): void {
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
