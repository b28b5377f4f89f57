import type { AccountId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { Batches } from './batches.ts'
import { bigintArray, textArray } from './binary-arrays.ts'
import type { Link } from './link.ts'
import { WaitingEstimate } from './waiting-estimate.ts'

// Each takes about 300 bytes. Who is forgotten is counted anew.
const MOST_REMEMBERED = 20_000
// Long counts rest after each: at most a fifth of the time of one connection goes into counting.
const COUNT_WITHIN_MS = 50
const REST_FACTOR = 4

export interface BacklogLimits {
  /** 0 means none. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingPerAccount: number
}

export interface BacklogParts {
  readonly clock: Clock
  readonly link: Link
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
  readonly #counts: Batches<Counted, number | null>
  #remembered = 0
  #rest: Promise<void> = Promise.resolve()

  constructor(parts: BacklogParts) {
    this.#parts = parts
    this.#counts = new Batches({ ways: 1, mostPerBatch: 100, run: (wanted) => this.#count(wanted) })
  }

  isFull(accountId: AccountId, from: string | null): 'connection_backlog_full' | 'account_backlog_full' | null {
    const { maxWaitingPerAccount, maxWaitingPerConnection } = this.#parts.limits
    if (maxWaitingPerAccount > 0 && this.#judge(accountId, null, maxWaitingPerAccount)) return 'account_backlog_full'
    if (from === null || maxWaitingPerConnection === 0) return null
    return this.#judge(accountId, from, maxWaitingPerConnection) ? 'connection_backlog_full' : null
  }

  /** A message was accepted here. */
  accept(accountId: AccountId, number: string): void {
    const ofAccount = this.#accounts.get(accountId)
    ofAccount?.get(null)?.estimate.accept()
    ofAccount?.get(number)?.estimate.accept()
  }

  #judge(accountId: AccountId, number: string | null, limit: number): boolean {
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

  /** Of the same account: one that makes numbers up pushes out nobody else's. */
  #forgetOldest(ofAccount: OfAccount): void {
    for (const number of ofAccount.keys()) {
      ofAccount.delete(number)
      this.#remembered -= 1
      break
    }
  }

  /** So that whoever tries again a second later meets a fresh count. */
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
    estimate.beginCount(clock.monotonic())
    this.#counts.submit(counted).then(
      (count) => estimate.endCount(count),
      // The old count has to do; the next question tries again.
      () => estimate.endCount(null),
    )
  }

  async #count(wanted: readonly Counted[]): Promise<(number | null)[]> {
    const { clock, link } = this.#parts
    await this.#rest
    const began = clock.monotonic()
    const [row] = await link.ask('select count_waiting($1, $2, $3, $4) as counts', [
      textArray(wanted.map(({ accountId }) => accountId)),
      textArray(wanted.map(({ number }) => number)),
      bigintArray(wanted.map(({ limit }) => limit)),
      COUNT_WITHIN_MS,
    ])
    const tookMs = clock.monotonic() - began
    if (tookMs > COUNT_WITHIN_MS / 2)
      this.#rest = new Promise((resolve) => clock.after(tookMs * REST_FACTOR, () => resolve()))
    const counts = String(row?.['counts']).split(',')
    return wanted.map((_, at) => (counts[at] ? Number(counts[at]) : null))
  }
}
