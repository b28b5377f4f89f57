import { setTimeout } from 'node:timers/promises'
import type { AccountId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import { Batcher } from '../connection/batcher.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { PgConnection, Query } from '../connection/pg-connection.ts'

/** Up to this number the count is exact. It keeps a core busy for 10 to 25 ms; five times as many delayed all other acceptances. */
export const COUNTED_UP_TO = 20_000

// Counting costs the database about 0.1 µs a row, so large backlogs are counted less often.
const REST_PER_ROW_MS = 0.004
const COUNT_AGAIN_AFTER_MS = 250
const COUNT_FULL_AGAIN_AFTER_MS = 1_000
const COUNT_HALF_FULL_AGAIN_AFTER_MS = 10_000
// What others accept within that time after a count is left out: a limit may be off by it.
const OTHERS_LEFT_OUT_FOR_MS = 1_000

// Each takes about 300 bytes. A forgotten backlog is counted anew.
const MOST_REMEMBERED = 20_000
// Long counts pause after each: at most a twentieth of the time of one connection goes into counting. After a start everything is
// counted anew, and with five million messages that would slow down accepting.
const COUNT_WITHIN_MS = 50
const REST_FACTOR = 19

export interface BacklogLimits {
  /** 0 means none. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingPerAccount: number
}

interface BacklogParts {
  readonly clock: Clock
  readonly pgConnection: PgConnection
  readonly limits: BacklogLimits
  readonly acceptingProcesses: () => number
}

interface Counted {
  readonly accountId: AccountId
  /** Null: the whole account. */
  readonly number: string | null
  readonly limit: number
  readonly estimate: WaitingEstimate
  isPlanned: boolean
}

/** By number; null is the whole account. */
type OfAccount = Map<string | null, Counted>

/**
 * Whether an account or a lane has as many messages waiting as it may, by counts that are taken in the background: a
 * counter that every acceptance changes would make them all wait for each other (tried: it cost 30 % of the rate).
 */
export class Backlog {
  readonly #parts: BacklogParts
  readonly #accounts = new Map<AccountId, OfAccount>()
  readonly #steps: Batcher<CountStep, CountPart>
  #remembered = 0
  #rest: Promise<unknown> = Promise.resolve()

  constructor(parts: BacklogParts) {
    this.#parts = parts
    this.#steps = new Batcher({ concurrency: 1, mostPerBatch: 100, run: (steps) => this.#countOn(steps) })
  }

  isFull(accountId: AccountId, from: string | null): 'connection_backlog_full' | 'account_backlog_full' | null {
    const { maxWaitingPerAccount, maxWaitingPerConnection } = this.#parts.limits
    if (maxWaitingPerAccount > 0 && this.#isOver(accountId, null, maxWaitingPerAccount)) return 'account_backlog_full'
    if (from === null || maxWaitingPerConnection === 0) return null
    return this.#isOver(accountId, from, maxWaitingPerConnection) ? 'connection_backlog_full' : null
  }

  /** A message was accepted here. */
  accept(accountId: AccountId, number: string): void {
    const ofAccount = this.#accounts.get(accountId)
    ofAccount?.get(null)?.estimate.accept()
    ofAccount?.get(number)?.estimate.accept()
  }

  #isOver(accountId: AccountId, number: string | null, limit: number): boolean {
    const counted = this.#accounts.get(accountId)?.get(number) ?? this.#add({ accountId, number, limit })
    const { estimate } = counted
    const processes = this.#parts.acceptingProcesses()
    const now = this.#parts.clock.monotonic()
    const isFull = estimate.isFull(now, processes)
    const again = estimate.countAgainAt(processes)
    if (again <= now) this.#countAgain(counted)
    else if (isFull) this.#plan(counted, again - now)
    return isFull
  }

  #add(wanted: Pick<Counted, 'accountId' | 'number' | 'limit'>): Counted {
    const counted = { ...wanted, estimate: new WaitingEstimate(wanted.limit), isPlanned: false }
    const ofAccount = this.#accounts.get(wanted.accountId) ?? new Map<string | null, Counted>()
    this.#accounts.set(wanted.accountId, ofAccount.set(wanted.number, counted))
    this.#remembered += 1
    if (this.#remembered > MOST_REMEMBERED) this.#forgetOldest(ofAccount)
    return counted
  }

  /** Forgets an entry of the same account: an account that invents numbers must not push out those of others. */
  #forgetOldest(ofAccount: OfAccount): void {
    for (const number of ofAccount.keys()) {
      if (number === null) continue
      ofAccount.delete(number)
      this.#remembered -= 1
      break
    }
  }

  /** Counts again after the delay, so that a caller that retries a second later gets a fresh count. */
  #plan(counted: Counted, delayMs: number): void {
    if (counted.isPlanned || delayMs === Number.POSITIVE_INFINITY) return
    counted.isPlanned = true
    this.#parts.clock.after(delayMs, () => {
      counted.isPlanned = false
      this.#countAgain(counted)
    })
  }

  #countAgain(counted: Counted): void {
    const { estimate } = counted
    const { clock, acceptingProcesses } = this.#parts
    if (estimate.countAgainAt(acceptingProcesses()) > clock.monotonic()) return
    this.#count(counted).then(
      (count) => estimate.endCount(count),
      // The old count stays in use. The next query of it counts again.
      () => estimate.endCount(null),
    )
  }

  async #count(counted: Counted): Promise<number> {
    const { accountId, number } = counted
    let sum = 0
    for (let after: number | null = 0; after !== null; ) {
      // What is accepted until the last step begins lies ahead of it, and is counted by it.
      counted.estimate.beginCount(this.#parts.clock.monotonic())
      const part: CountPart = await this.#steps.submit({ accountId, number, after, limit: counted.limit - sum })
      sum += part.count
      after = part.after
    }
    return sum
  }

  async #countOn(steps: readonly CountStep[]): Promise<CountPart[]> {
    await this.#rest
    const began = performance.now()
    const parts = await countOn((sql, values) => this.#parts.pgConnection.query(sql, values), steps, COUNT_WITHIN_MS)
    const tookMs = performance.now() - began
    if (tookMs > COUNT_WITHIN_MS / 2) this.#rest = setTimeout(tookMs * REST_FACTOR)
    return parts
  }
}

/**
 * How many messages wait somewhere, between two counts: what was counted, and what was accepted since. Others accept
 * about as much as we do; what was sent meanwhile is only known after the next count. Times are monotonic.
 */
export class WaitingEstimate {
  readonly #limit: number
  #counted: number | null = null
  #countedAt = Number.NEGATIVE_INFINITY
  #acceptedSince = 0
  /** From when the count that is under way began. */
  #acceptedDuring: number | null = null

  constructor(limit: number) {
    this.#limit = limit
  }

  accept(): void {
    this.#acceptedSince += 1
    if (this.#acceptedDuring !== null) this.#acceptedDuring += 1
  }

  beginCount(now: number): void {
    this.#countedAt = now
    this.#acceptedDuring = 0
  }

  /** Null: it could not be counted. */
  endCount(counted: number | null): void {
    if (counted !== null) {
      this.#counted = counted
      this.#acceptedSince = this.#acceptedDuring ?? 0
    }
    this.#acceptedDuring = null
  }

  /** A backlog that was not counted yet is not full. */
  isFull(now: number, processes: number): boolean {
    if (this.#counted === null) return false
    const others = now - this.#countedAt < OTHERS_LEFT_OUT_FOR_MS ? 1 : processes
    return this.#counted + this.#acceptedSince * others >= this.#limit
  }

  /** When to count again; infinite as long as the answer cannot matter. */
  countAgainAt(processes: number): number {
    if (this.#acceptedDuring !== null) return Number.POSITIVE_INFINITY
    const counted = this.#counted ?? 0
    const after = (delayMs: number) => this.#countedAt + delayMs + counted * REST_PER_ROW_MS
    if (this.#counted === null) return after(COUNT_AGAIN_AFTER_MS)
    if (counted >= this.#limit) return after(COUNT_FULL_AGAIN_AFTER_MS)
    // Before the limit can be reached, not when.
    if (this.#acceptedSince * processes >= (this.#limit - counted) / 2) return after(COUNT_AGAIN_AFTER_MS)
    return counted > this.#limit / 2 ? after(COUNT_HALF_FULL_AGAIN_AFTER_MS) : Number.POSITIVE_INFINITY
  }
}

/**
 * How many messages wait in all lanes: exact while they are few, then as the server estimates, which has forgotten it after a
 * crash; so at least {@link COUNTED_UP_TO}.
 */
export async function countWaiting(query: Query): Promise<number> {
  const [row] = await query(
    `select counted, case when counted < $1::bigint then counted else greatest(counted, (
         select greatest(coalesce(n_live_tup, 0), $1::bigint) from pg_stat_user_tables where relid = 'queued'::regclass)) end as waiting
       from (select count(*) as counted from (select 1 from queued limit $1::bigint) few) c`,
    [COUNTED_UP_TO],
  )
  return (row?.['waiting'] as number | undefined) ?? 0
}

/** A lane, or a whole account where `number` is null, to be counted from a place on. */
export interface CountStep {
  readonly accountId: AccountId
  readonly number: string | null
  readonly after: number
  /** Up to how many it is worth counting. */
  readonly limit: number
}

export interface CountPart {
  readonly count: number
  /** Where to go on; null when there is no more to count. */
  readonly after: number | null
}

/** Counts as much of them as the server can in that time, or a little more; one after the other, so the last may wait. */
export async function countOn(query: Query, steps: readonly CountStep[], withinMs: number): Promise<CountPart[]> {
  const [row] = await query('select count_waiting($1, $2, $3, $4, $5) as counts', [
    textArray(steps.map(({ accountId }) => accountId)),
    textArray(steps.map(({ number }) => number)),
    bigintArray(steps.map(({ after }) => after)),
    bigintArray(steps.map(({ limit }) => limit)),
    withinMs,
  ])
  return String(row?.['counts']).split(',').map(toPart)
}

function toPart(text: string): CountPart {
  const [count, after] = text.split(' ')
  return { count: Number(count), after: after === undefined ? null : Number(after) }
}
