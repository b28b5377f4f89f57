import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { CoalescingWindow } from './coalescing-window.ts'
import { StatementRefused, StorageDamaged } from './pg-connection.ts'

interface Job<Given, Result> {
  readonly given: Given
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

export interface BatchesOptions<Given, Result> {
  /** How many batches may be on their way at once; the lane is the number of the way, from 0. */
  readonly ways: number
  readonly mostPerBatch: number
  /** From twice as many on, several free ways share what is there. Otherwise one takes it all. */
  readonly worthOfAConnection?: number
  /** While a batch is on its way that began less than so long ago, fewer than that wait for its end, and go together. */
  readonly gatherMs?: number
  /** How much each of them is; a batch has at most so much, but for one that has more alone. */
  readonly size?: { readonly of: (given: Given) => number; readonly mostPerBatch: number }
  /** Writes all of them or none. One result for each, in the same order. */
  readonly run: (given: readonly Given[], way: number) => Promise<readonly Result[]>
}

const CONTENDED_RETRIES = 3
const MOST_DAMAGED_ALONE = 8

/**
 * Lets all who ask in one turn of the event loop share one statement, and whoever comes while all ways are taken share
 * the next.
 *
 *   submit ──▶ queued ──(end of turn, a way is free)──▶ one statement ──▶ resolved
 *                ▲                                        │ a bad value: halved, until the bad one stands alone
 *                └───────── refused for want of a lock ───┤
 *                                                         └ storage away: all of it rejected
 */
export class Batches<Given, Result> {
  readonly #options: BatchesOptions<Given, Result>
  readonly #free: number[]
  readonly #gathering: CoalescingWindow
  #queue: Job<Given, Result>[] = []
  #isScheduled = false
  #onIdle: (() => void)[] = []

  constructor(options: BatchesOptions<Given, Result>) {
    this.#options = options
    this.#free = Array.from({ length: options.ways }, (_, way) => options.ways - 1 - way)
    this.#gathering = new CoalescingWindow(options.gatherMs ?? 0, () => this.#schedule())
  }

  submit(given: Given): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
      this.#queue.push({ given, resolve, reject })
      this.#schedule()
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
    if (this.#queue.length > 0 || this.#free.length < this.#options.ways) return
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
      if (this.#gathers()) return
      const way = this.#free.pop()
      if (way === undefined) return
      this.#gathering.noteStart()
      const count = Math.min(this.#countForBatch(), this.#shareOfAWay())
      const jobs = this.#queue.slice(0, count)
      this.#queue = this.#queue.slice(count)
      void this.#carry(jobs, way).finally(() => {
        this.#free.push(way)
        if (this.#queue.length > 0) this.#schedule()
        else this.#resolveIdle()
      })
    }
  }

  #gathers(): boolean {
    const { ways, mostPerBatch, worthOfAConnection = mostPerBatch } = this.#options
    return this.#free.length < ways && this.#queue.length < worthOfAConnection && this.#gathering.isOn()
  }

  #countForBatch(): number {
    const { size } = this.#options
    const most = this.#shareOfAWay()
    if (!size) return most
    let sum = 0
    for (const [at, { given }] of this.#queue.entries()) {
      sum += size.of(given)
      if (at === most || (at > 0 && sum > size.mostPerBatch)) return at
    }
    return most
  }

  /** Of what is there, as there is one way taken already. */
  #shareOfAWay(): number {
    const { mostPerBatch, worthOfAConnection = mostPerBatch } = this.#options
    const ways = Math.min(this.#free.length + 1, Math.floor(this.#queue.length / worthOfAConnection))
    return Math.min(mostPerBatch, ways > 1 ? Math.ceil(this.#queue.length / ways) : this.#queue.length)
  }

  async #carry(jobs: readonly Job<Given, Result>[], way: number, trial: Trial = newTrial()): Promise<void> {
    try {
      const results = await this.#options.run(
        jobs.map((job) => job.given),
        way,
      )
      trial.damage.isAnyWhole = true
      for (const [at, job] of jobs.entries()) job.resolve(results[at] as Result)
    } catch (error) {
      if (error instanceof StatementRefused && error.kind === 'contended') {
        if (trial.retries > 0) return this.#carry(jobs, way, { ...trial, retries: trial.retries - 1 })
        return rejectAll(jobs, new StorageUnavailable('somebody else holds a lock', false, { cause: error }))
      }
      if (jobs.length === 1 && error instanceof StorageDamaged) trial.damage.alone += 1
      if (jobs.length === 1 || !isOfOne(error, trial)) return rejectAll(jobs, error)
      // One bad row never fails the others.
      const middle = jobs.length >> 1
      await this.#carry(jobs.slice(0, middle), way, trial)
      await this.#carry(jobs.slice(middle), way, trial)
    }
  }
}

interface Trial {
  readonly retries: number
  /** Of all parts of the batch: how many alone met something damaged, and whether any part met nothing. */
  readonly damage: { alone: number; isAnyWhole: boolean }
}

function newTrial(): Trial {
  return { retries: CONTENDED_RETRIES, damage: { alone: 0, isAnyWhole: false } }
}

/** Whether others of the batch may be written. What so many met, one after the other, everybody meets. */
function isOfOne(error: unknown, { damage }: Trial): boolean {
  if (error instanceof StorageDamaged) return damage.isAnyWhole || damage.alone < MOST_DAMAGED_ALONE
  return error instanceof StatementRefused && error.kind === 'data'
}

function rejectAll(jobs: readonly Job<unknown, never>[] | readonly Job<never, never>[], error: unknown): void {
  for (const job of jobs) job.reject(error)
}
