import type { TokenId } from '../../core/ids.ts'
import type { Intake, RefusedRequest, SummedRefusals } from '../../core/ports/intake.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import { problem } from '../server/problem.ts'
import type { ServerState } from '../server/server-state.ts'

const MINUTE_MS = 60_000
const TRY_AGAIN_AFTER_MS = 10_000

type Aggregate = Pick<SummedRefusals, 'accountId' | 'tokenId' | 'status' | 'code' | 'errors'> & {
  requests: number
  since: number
  latest: number
}

/**
 * Counts refused requests that are not logged one by one, or could not be, and writes one row for each token and reason
 * to the API log at the end of each minute of the clock. So an hourly count finds each of them in its own hour.
 *
 *   COUNTING ── the minute is over ──▶ UNWRITTEN ── written ──▶ gone
 *                                        │   ▲
 *                            not written └───┘ the same row again, some seconds later
 *
 * - No refused request waits for this.
 * - The count of an unwritten row never changes: the result of a failed commit is unknown, and the row's id keeps it from
 *   being written twice. Meanwhile the next row is counted, over several minutes if need be.
 * - There are never more rows of either kind than tokens times reasons, however long storage is away, and no row waits
 *   for another.
 * - The counts of a killed process in its current minute are lost.
 */
export class RefusalAggregates {
  readonly #server: Pick<ServerState, 'clock' | 'observer' | 'log' | 'nextRequestId'>
  readonly #intake: Pick<Intake, 'logSummed'>
  readonly #counting = new Map<string, Aggregate>()
  #minuteUntil = 0
  readonly #unwritten = new Map<string, SummedRefusals>()
  #writing: Promise<unknown> | null = null
  #cancelTimer: (() => void) | null = null
  #isStopped = false

  constructor(
    server: Pick<ServerState, 'clock' | 'observer' | 'log' | 'nextRequestId'>,
    intake: Pick<Intake, 'logSummed'>,
  ) {
    this.#server = server
    this.#intake = intake
  }

  /** Counts a request. `reason` is the first thing that was wrong with it. */
  add({ facts: { receivedAt }, accountId, tokenId, status, code }: RefusedRequest, reason: RefusalCode): void {
    if (this.#isStopped) {
      this.#server.observer.refusalNotLogged(1)
      return
    }
    if (this.#counting.size > 0 && this.#isMinuteOver()) this.#wake()
    const key = keyOf(tokenId, reason)
    const sum = this.#counting.get(key)
    if (sum) {
      sum.requests += 1
      sum.since = Math.min(sum.since, receivedAt)
      sum.latest = Math.max(sum.latest, receivedAt)
      return
    }
    // Without fields and details: they may differ between requests, or quote the caller.
    const errors = JSON.stringify([problem(reason)])
    const times = { since: receivedAt, latest: receivedAt }
    const isFirst = this.#counting.size === 0
    this.#counting.set(key, { accountId, tokenId, status, code, errors, requests: 1, ...times })
    if (!isFirst) return
    this.#beginMinute()
    // Otherwise the write in progress schedules the next one.
    if (!this.#writing) this.#plan()
  }

  /** Writes all counts, and retries unwritten rows once. Calling it twice is harmless. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#cancelTimer?.()
    await this.#writing
    this.#closeMinute()
    if (await this.#write()) {
      // Counts that waited for their previous row.
      this.#closeMinute()
      await this.#write()
    }
    let lost = 0
    for (const { requests } of [...this.#unwritten.values(), ...this.#counting.values()]) lost += requests
    if (lost > 0) this.#server.observer.refusalNotLogged(lost)
  }

  #beginMinute(): void {
    const now = this.#server.clock.now()
    this.#minuteUntil = now - (now % MINUTE_MS) + MINUTE_MS
  }

  #isMinuteOver(): boolean {
    const now = this.#server.clock.now()
    // A clock that was set back must not keep the minute open for long.
    return now >= this.#minuteUntil || now < this.#minuteUntil - MINUTE_MS
  }

  /** Closes the minute if it is over, and writes all rows. */
  #wake(): void {
    if (this.#counting.size > 0 && this.#isMinuteOver()) {
      this.#closeMinute()
      this.#beginMinute()
    }
    if (this.#writing) return
    if (this.#unwritten.size === 0) {
      this.#plan()
      return
    }
    this.#cancelTimer?.()
    this.#writing = this.#write().then(() => {
      this.#writing = null
      this.#plan()
    })
  }

  #plan(): void {
    if (this.#isStopped) return
    const waits = [
      ...(this.#unwritten.size > 0 ? [TRY_AGAIN_AFTER_MS] : []),
      ...(this.#counting.size > 0 ? [Math.max(0, this.#minuteUntil - this.#server.clock.now())] : []),
    ]
    this.#cancelTimer?.()
    if (waits.length > 0)
      this.#cancelTimer = this.#server.clock.after(Math.min(...waits, MINUTE_MS), () => this.#wake())
  }

  #closeMinute(): void {
    const now = this.#server.clock.now()
    for (const [key, { latest, ...sum }] of this.#counting) {
      if (this.#unwritten.has(key)) continue
      const until = timeOfRow(Math.min(latest, now), now)
      const requestId = this.#server.nextRequestId()
      this.#unwritten.set(key, { ...sum, requestId, since: Math.min(sum.since, until), until })
      this.#counting.delete(key)
    }
  }

  /** True when no row is left to be written. Never rejects. */
  async #write(): Promise<boolean> {
    const now = this.#server.clock.now()
    const tries = [...this.#unwritten].map(async ([key, sum]) => {
      const row = { ...sum, until: timeOfRow(sum.until, now) }
      this.#unwritten.set(key, row)
      if (await this.#isKept(row)) this.#unwritten.delete(key)
    })
    await Promise.all(tries)
    return this.#unwritten.size === 0
  }

  async #isKept(sum: SummedRefusals): Promise<boolean> {
    try {
      return await this.#intake.logSummed(sum)
    } catch (error) {
      const { requestId } = sum
      this.#server.log.error({ requestId, err: error }, 'refused requests that were summed up could not be logged')
      return false
    }
  }
}

/**
 * The end of the minute of the last request, so that the row is in the same hour. Or now if that was long ago: rows are
 * stored in the order of their times, and searches by time rely on that to the minute.
 */
function timeOfRow(latest: number, now: number): number {
  const end = Math.min(latest - (latest % MINUTE_MS) + MINUTE_MS - 1, now)
  return now - end < MINUTE_MS ? end : now
}

function keyOf(tokenId: TokenId, reason: RefusalCode): string {
  return `${tokenId} ${reason}`
}
