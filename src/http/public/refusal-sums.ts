import type { TokenId } from '../../core/ids.ts'
import type { Intake, RefusedRequest, SummedRefusals } from '../../core/ports/intake.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import { problem } from '../problem.ts'
import type { ServerState } from '../server-state.ts'

const MINUTE_MS = 60_000
const TRY_AGAIN_AFTER_MS = 10_000
const MOST_AT_ONCE = 500

type Sum = Pick<SummedRefusals, 'accountId' | 'tokenId' | 'status' | 'code' | 'errors'> & {
  requests: number
  since: number
}

/**
 * Counts refused requests that are not kept one by one, and puts one row for each token and reason into the API log when
 * a minute of the clock is over. So what is counted by the hour is counted within its own hour.
 *
 *   EMPTY ── a refusal ──▶ COUNTING ── the minute is over ──▶ WRITING ── written ──▶ EMPTY, or COUNTING what came meanwhile
 *                                                              │   ▲
 *                                                  not written └───┘ the same rows again, some seconds later
 *
 * - Nobody who is refused waits for any of it.
 * - Rows that are being written never change: whether a failed commit took them is unknown, and by their ids they are
 *   not written twice. Meanwhile the next ones are counted, over several minutes if need be.
 * - There are never more of either than tokens times reasons, however long storage is away.
 * - What a killed process had counted of its minute is lost.
 */
export class RefusalSums {
  readonly #server: Pick<ServerState, 'clock' | 'observer' | 'log' | 'nextRequestId'>
  readonly #intake: Pick<Intake, 'logSummed'>
  #counting = new Map<string, Sum>()
  #minuteUntil = 0
  #unwritten: readonly SummedRefusals[] = []
  #writing: Promise<void> | null = null
  #cancelTimer: (() => void) | null = null
  #isStopped = false

  constructor(
    server: Pick<ServerState, 'clock' | 'observer' | 'log' | 'nextRequestId'>,
    intake: Pick<Intake, 'logSummed'>,
  ) {
    this.#server = server
    this.#intake = intake
  }

  /** Counts a request. `reason` is what was found wrong with it first. */
  add({ facts, accountId, tokenId, status, code }: RefusedRequest, reason: RefusalCode): void {
    if (this.#isStopped) {
      this.#server.observer.refusalNotLogged(1)
      return
    }
    this.#endMinute()
    const key = keyOf(tokenId, reason)
    const sum = this.#counting.get(key)
    if (sum) {
      sum.requests += 1
      sum.since = Math.min(sum.since, facts.receivedAt)
      return
    }
    const isFirst = this.#counting.size === 0
    // Without fields and details: they may differ from request to request, or be what a caller wrote.
    const errors = JSON.stringify([problem(reason)])
    this.#counting.set(key, { accountId, tokenId, status, code, errors, requests: 1, since: facts.receivedAt })
    if (isFirst) this.#beginMinute()
  }

  /** Writes what was counted, and tries once more what could not be written. Harmless twice. */
  async stop(): Promise<void> {
    if (this.#isStopped) return
    this.#isStopped = true
    this.#cancelTimer?.()
    await this.#writing
    if (await this.#write()) {
      this.#closeMinute()
      await this.#write()
    }
    let lost = 0
    for (const { requests } of [...this.#unwritten, ...this.#counting.values()]) lost += requests
    if (lost > 0) this.#server.observer.refusalNotLogged(lost)
  }

  #beginMinute(): void {
    const now = this.#server.clock.now()
    this.#minuteUntil = now - (now % MINUTE_MS) + MINUTE_MS
    // Else whoever writes plans what comes next.
    if (this.#unwritten.length === 0) this.#plan()
  }

  /** What is still to be written from before comes first: until then it goes on being counted. */
  #endMinute(): void {
    if (this.#counting.size === 0 || this.#unwritten.length > 0) return
    const now = this.#server.clock.now()
    // A clock that was set back must not keep it open for long.
    const isOver = now >= this.#minuteUntil || now < this.#minuteUntil - MINUTE_MS
    if (!isOver) return
    this.#closeMinute()
    this.#writeAside()
  }

  #writeAside(): void {
    this.#writing = this.#write().then(() => {
      this.#writing = null
      this.#plan()
    })
  }

  #plan(): void {
    if (this.#isStopped) return
    if (this.#unwritten.length > 0) this.#wakeAfter(TRY_AGAIN_AFTER_MS)
    else if (this.#counting.size > 0) this.#wakeAfter(Math.max(0, this.#minuteUntil - this.#server.clock.now()))
  }

  #wakeAfter(delayMs: number): void {
    this.#cancelTimer?.()
    this.#cancelTimer = this.#server.clock.after(Math.min(delayMs, MINUTE_MS), () => {
      if (this.#unwritten.length > 0) return this.#writeAside()
      this.#endMinute()
      // It woke too early.
      if (this.#unwritten.length === 0) this.#plan()
    })
  }

  #closeMinute(): void {
    const { clock, nextRequestId } = this.#server
    const now = clock.now()
    // Of the minute that was counted, or of now when that was long ago: rows lie in the order of their times, and who
    // looks for a time relies on it to the minute.
    const isLate = now >= this.#minuteUntil + MINUTE_MS
    const until = isLate ? now : Math.min(now, this.#minuteUntil - 1)
    this.#unwritten = [...this.#counting.values()].map((sum) => ({
      ...sum,
      requestId: nextRequestId(),
      since: Math.min(sum.since, until),
      until,
    }))
    this.#counting = new Map()
  }

  /** True when nothing is left to be written. Never rejects. */
  async #write(): Promise<boolean> {
    while (this.#unwritten.length > 0) {
      const some = this.#unwritten.slice(0, MOST_AT_ONCE)
      if (!(await this.#isKept(some))) return false
      this.#unwritten = this.#unwritten.slice(some.length)
    }
    return true
  }

  async #isKept(sums: readonly SummedRefusals[]): Promise<boolean> {
    try {
      return await this.#intake.logSummed(sums)
    } catch (error) {
      const requestId = sums[0]?.requestId ?? ''
      this.#server.log.error({ requestId, err: error }, 'refused requests that were summed up could not be logged')
      return false
    }
  }
}

function keyOf(tokenId: TokenId, reason: RefusalCode): string {
  return `${tokenId} ${reason}`
}
