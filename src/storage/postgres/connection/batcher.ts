import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { StatementRefused, StorageDamaged } from './pg-connection.ts'

const TRIES = 3

interface Job<Given, Result> {
  readonly given: Given
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface BatcherOptions<Given, Result> {
  /** How many batches may be on their way at once. */
  readonly concurrency: number
  readonly mostPerBatch: number
  /** From twice as many on, several free connections share the queue. Otherwise one takes it all. */
  readonly minPerConnection?: number
  /** Fewer than `minPerConnection` wait for the end of a running batch that began less than this long ago. */
  readonly lingerMs?: number
  /** How large each of them is. A batch has at most so much, unless a single one has more. */
  readonly size?: { readonly of: (given: Given) => number; readonly mostPerBatch: number }
  /** Writes all of them or none, over the connection with this index, from 0. One result for each, in the same order. */
  readonly run: (given: readonly Given[], index: number) => Promise<readonly Result[]>
}

const CONTENDED_RETRIES = 3
const MOST_DAMAGED_ALONE = 8

/**
 * Lets everything that is submitted in one turn of the event loop share one statement. What is submitted while all connections are
 * busy shares the next one.
 *
 *   submit ──▶ queued ──(end of turn, a connection is free)──▶ one statement ──▶ resolved
 *                                                                 │ a bad value: halved, until the bad one stands alone
 *                                                                 ├ lock timeout: retried
 *                                                                 └ storage away: all of it rejected
 */
export class Batcher<Given, Result> {
  readonly #options: BatcherOptions<Given, Result>
  readonly #free: number[]
  readonly #window: CoalescingWindow
  #queue: Job<Given, Result>[] = []
  #isScheduled = false
  #onIdle: (() => void)[] = []

  constructor(options: BatcherOptions<Given, Result>) {
    this.#options = options
    this.#free = Array.from({ length: options.concurrency }, (_, index) => options.concurrency - 1 - index)
    this.#window = new CoalescingWindow(options.lingerMs ?? 0, () => this.#schedule())
  }

  submit(given: Given): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#queue.push({ given, resolve, reject })
      this.#schedule()
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
    if (this.#queue.length > 0 || this.#free.length < this.#options.concurrency) return
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
    while (this.#queue.length > 0) {
      if (this.#lingers()) return
      const index = this.#free.pop()
      if (index === undefined) return
      this.#window.noteStart()
      const count = this.#countForBatch()
      const jobs = this.#queue.slice(0, count)
      this.#queue = this.#queue.slice(count)
      void this.#execute(jobs, index).finally(() => {
        this.#free.push(index)
        if (this.#queue.length > 0) this.#schedule()
        else this.#resolveIdle()
      })
    }
  }

  #lingers(): boolean {
    const { concurrency, mostPerBatch, minPerConnection = mostPerBatch } = this.#options
    return this.#free.length < concurrency && this.#queue.length < minPerConnection && this.#window.isOpen()
  }

  #countForBatch(): number {
    const { size } = this.#options
    const most = this.#shareOfConnection()
    if (!size) return most
    let sum = 0
    for (const [at, { given }] of this.#queue.entries()) {
      sum += size.of(given)
      if (at === most || (at > 0 && sum > size.mostPerBatch)) return at
    }
    return most
  }

  /** How much of the queue goes to one connection, when that one is taken already. */
  #shareOfConnection(): number {
    const { mostPerBatch, minPerConnection = mostPerBatch } = this.#options
    const connections = Math.min(this.#free.length + 1, Math.floor(this.#queue.length / minPerConnection))
    return Math.min(mostPerBatch, connections > 1 ? Math.ceil(this.#queue.length / connections) : this.#queue.length)
  }

  async #execute(jobs: readonly Job<Given, Result>[], index: number, trial: Trial = newTrial()): Promise<void> {
    try {
      const results = await this.#options.run(
        jobs.map((job) => job.given),
        index,
      )
      trial.damage.isAnyWhole = true
      for (const [at, job] of jobs.entries()) job.resolve(results[at] as Result)
    } catch (error) {
      if (error instanceof StatementRefused && error.kind === 'contended') {
        if (trial.retries > 0) return this.#execute(jobs, index, { ...trial, retries: trial.retries - 1 })
        return rejectAll(jobs, new StorageUnavailable('another transaction holds a lock', false, { cause: error }))
      }
      if (jobs.length === 1 && error instanceof StorageDamaged) trial.damage.alone += 1
      if (jobs.length === 1 || !isOfOne(error, trial)) return rejectAll(jobs, error)
      // One bad row never fails the others.
      const middle = jobs.length >> 1
      await this.#execute(jobs.slice(0, middle), index, trial)
      await this.#execute(jobs.slice(middle), index, trial)
    }
  }
}

/**
 * Whether a small batch waits for the one before it, to share a statement with what comes meanwhile: a batch costs as much as dozens of
 * its rows. It waits only briefly, because a batch that is stuck must not delay the others.
 */
export class CoalescingWindow {
  readonly #lingerMs: number
  readonly #onClose: () => void
  #startedAt = Number.NEGATIVE_INFINITY
  #isTimed = false

  /** `onClose` is called when the window ends, once for each time that `isOpen` was true. */
  constructor(lingerMs: number, onClose: () => void) {
    this.#lingerMs = lingerMs
    this.#onClose = onClose
  }

  noteStart(): void {
    this.#startedAt = performance.now()
  }

  /** While a batch is on its way: whether the last one began less than `lingerMs` ago. */
  isOpen(): boolean {
    const leftMs = this.#startedAt + this.#lingerMs - performance.now()
    if (leftMs <= 0) return false
    if (!this.#isTimed) {
      this.#isTimed = true
      setTimeout(() => {
        this.#isTimed = false
        this.#onClose()
      }, leftMs)
    }
    return true
  }
}

interface Trial {
  readonly retries: number
  /** Over all parts of the batch: how many single rows met damage, and whether any part was written. */
  readonly damage: { alone: number; isAnyWhole: boolean }
}

function newTrial(): Trial {
  return { retries: CONTENDED_RETRIES, damage: { alone: 0, isAnyWhole: false } }
}

/** Whether other rows of the batch may be written. Damage that so many single rows meet concerns all of them. */
function isOfOne(error: unknown, { damage }: Trial): boolean {
  if (error instanceof StorageDamaged) return damage.isAnyWhole || damage.alone < MOST_DAMAGED_ALONE
  return error instanceof StatementRefused && error.kind === 'data'
}

function rejectAll(jobs: readonly Job<unknown, never>[] | readonly Job<never, never>[], error: unknown): void {
  for (const job of jobs) job.reject(error)
}

/** Repeats a query that timed out waiting for a lock: nothing was written then. */
export async function retryOnLockTimeout<Result>(query: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries++) {
    try {
      return await query()
    } catch (error) {
      if (!(error instanceof StatementRefused && error.kind === 'contended')) throw error
      if (tries === TRIES) throw new StorageUnavailable('another transaction holds a lock', false, { cause: error })
    }
  }
}
