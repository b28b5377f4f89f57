import { setTimeout } from 'node:timers/promises'
import type { AccountId } from '../../../core/ids.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import { Batcher } from '../connection/batcher.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { type CountPart, type CountStep, countOn } from './waiting-count.ts'
import { WaitingEstimate } from './waiting-estimate.ts'

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
  readonly link: PgConnection
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

  /** Of the same account: an account that invents numbers pushes out only its own. */
  #forgetOldest(ofAccount: OfAccount): void {
    for (const number of ofAccount.keys()) {
      if (number === null) continue
      ofAccount.delete(number)
      this.#remembered -= 1
      break
    }
  }

  /** So that a caller that retries a second later meets a fresh count. */
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
      // The old count has to do; the next question tries again.
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
    const parts = await countOn((sql, values) => this.#parts.link.ask(sql, values), steps, COUNT_WITHIN_MS)
    const tookMs = performance.now() - began
    if (tookMs > COUNT_WITHIN_MS / 2) this.#rest = setTimeout(tookMs * REST_FACTOR)
    return parts
  }
}
