import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { Throttle } from '../../../core/ports/watch.ts'
import type { FullCounts, LeastFull } from '../../queries/alarms/watch-database.ts'
import type { Query } from '../connection/pg-connection.ts'
import { COUNTED_UP_TO, type CountPart, type CountStep } from './backlog.ts'

const COUNT_EVERY_MS = 300_000
const LANES_AT_ONCE = 100
// The time that one part takes of the server. Accepting waits that long, so parts are short. A million messages take about 0.4 s.
// However many wait, about four hundred parts count them all, within a dozen or two of the watchdog's checks.
const PART_MS = 2
const MESSAGES_IN_A_MS_OF_EACH_PART = 1_300_000
// The watchdog asks at each check. A count from before another process was the watchdog is out of date.
const FORGOTTEN_AFTER_MS = 120_000

const NOTHING_FULL: FullCounts = { connections: new Map(), accounts: new Map() }

interface FullCountParts {
  readonly query: Query
  /** See `countOn` in `backlog.ts`. */
  readonly count: (steps: readonly CountStep[], withinMs: number) => Promise<readonly CountPart[]>
  /** About how much waits in all. */
  readonly waiting: () => number
  readonly monotonic: () => number
}

interface Lane {
  readonly id: ConnectionId
  readonly accountId: AccountId
  readonly number: string
  /** How many have been counted, and up to which place. */
  readonly count: number
  readonly after: number
}

/**
 * Counts all that waits, a part after the other. In one statement five million messages took the server a second and a half
 * of processor time, on as many cores as it could have, and pushed out of its memory what the acceptances beside it needed.
 */
export class FullCount {
  readonly #parts: FullCountParts
  #known: FullCounts | null = null
  #knownSince = Number.NEGATIVE_INFINITY
  #askedAt = Number.NEGATIVE_INFINITY
  /** The count under way. Lanes with few waiting messages are only in the sum of their account. */
  #connections = new Map<ConnectionId, number>()
  #accounts = new Map<AccountId, number>()
  #ahead: readonly Lane[] = []
  #readUpTo = ''

  constructor(parts: FullCountParts) {
    this.#parts = parts
  }

  /** Nothing is full while so little waits in all. Past what is counted exactly, no estimate is believed. */
  async atLeast(least: LeastFull, throttle: Throttle): Promise<FullCounts | null> {
    const { waiting, monotonic } = this.#parts
    const lowest = Math.min(least.perConnection, least.perAccount)
    if (lowest === Number.POSITIVE_INFINITY || waiting() < Math.min(lowest, COUNTED_UP_TO)) return NOTHING_FULL
    if (monotonic() - this.#askedAt > FORGOTTEN_AFTER_MS) this.#forget()
    this.#askedAt = monotonic()
    if (monotonic() - this.#knownSince < COUNT_EVERY_MS || !(await this.#countOn(least, throttle))) return this.#known
    const accounts = [...this.#accounts].filter(([, count]) => count >= least.perAccount)
    this.#known = { connections: this.#connections, accounts: new Map(accounts) }
    this.#knownSince = monotonic()
    this.#startAnew()
    return this.#known
  }

  /** Whether that was all. */
  async #countOn(least: LeastFull, throttle: Throttle): Promise<boolean> {
    for (;;) {
      const beganMonotonic = this.#parts.monotonic()
      if (this.#ahead.length === 0) await this.#readOn()
      if (this.#ahead.length === 0) return true
      await this.#countPart(least)
      if (!(await throttle(this.#parts.monotonic() - beganMonotonic))) return false
    }
  }

  async #readOn(): Promise<void> {
    const rows = await this.#parts.query(
      `select id, account_id, number from connection where id > $1 and state <> 'removed' order by id limit ${LANES_AT_ONCE}`,
      [this.#readUpTo],
    )
    this.#ahead = rows.map((row) => ({
      id: row['id'] as ConnectionId,
      accountId: row['account_id'] as AccountId,
      number: String(row['number']),
      count: 0,
      after: 0,
    }))
    this.#readUpTo = this.#ahead.at(-1)?.id ?? this.#readUpTo
  }

  async #countPart(least: LeastFull): Promise<void> {
    const { count: countOn, waiting } = this.#parts
    const steps = this.#ahead.map((lane) => ({ ...lane, limit: Number.MAX_SAFE_INTEGER }))
    const withinMs = Math.max(PART_MS, Math.ceil(waiting() / MESSAGES_IN_A_MS_OF_EACH_PART))
    const parts = await countOn(steps, withinMs)
    const ahead: Lane[] = []
    for (const [at, lane] of this.#ahead.entries()) {
      const part = parts[at]
      const count = lane.count + (part?.count ?? 0)
      if (part?.after != null) ahead.push({ ...lane, count, after: part.after })
      else this.#add(lane, count, least)
    }
    this.#ahead = ahead
  }

  #add({ id, accountId }: Lane, count: number, { perConnection }: LeastFull): void {
    if (count >= perConnection) this.#connections.set(id, count)
    this.#accounts.set(accountId, (this.#accounts.get(accountId) ?? 0) + count)
  }

  #startAnew(): void {
    this.#connections = new Map()
    this.#accounts = new Map()
    this.#ahead = []
    this.#readUpTo = ''
  }

  #forget(): void {
    this.#known = null
    this.#knownSince = Number.NEGATIVE_INFINITY
    this.#startAnew()
  }
}
