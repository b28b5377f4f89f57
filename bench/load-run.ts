import { setTimeout as pause } from 'node:timers/promises'
import { Caller } from './caller.ts'
import { LatencyHistogram } from './latency-histogram.ts'
import { recipientAt, sendRequest } from './send-request.ts'

export interface LoadJob {
  readonly port: number
  /** Connections, each with at most one request under way. */
  readonly sockets: number
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Null: as fast as the replies come. */
  readonly ratePerSecond: number | null
  readonly token: string
  /** Sender numbers, used in turn. */
  readonly numbers: readonly string[]
  /** How many recipients each sender has, used in turn; 1 if left out. */
  readonly recipients?: number
  /** For a server that is not ours: whole requests, used in turn, and the status of an accepted one. */
  readonly foreign?: { readonly requests: readonly string[]; readonly takenStatus: number }
}

export interface LoadResult {
  readonly perSecond: number
  readonly replies: number
  /** Includes the replies of the warm-up and of the end. */
  readonly allReplies: number
  /** Replies other than 200, or than `takenStatus` of a foreign server. */
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
  /** How much of one core was used during the measurement. */
  readonly cpuShare: number
}

const TICK_MS = 1

/** Puts load on one server and counts the replies. */
export class LoadRun {
  readonly #job: LoadJob
  readonly #requests: readonly Buffer[]
  readonly #takenStatus: number
  readonly #latency = new LatencyHistogram()
  readonly #idle: Caller[] = []
  #callers: readonly Caller[] = []
  #next = 0
  #refused = 0
  #allReplies = 0
  #paceFromMs = 0
  #issued = 0
  #broken: Error | null = null
  #isOver = false

  constructor(job: LoadJob) {
    this.#job = job
    this.#requests = job.foreign ? job.foreign.requests.map((request) => Buffer.from(request)) : ownRequests(job)
    this.#takenStatus = job.foreign?.takenStatus ?? 200
  }

  async run(): Promise<LoadResult> {
    const { sockets, port, seconds, warmUpSeconds, ratePerSecond } = this.#job
    const parts = {
      port,
      onReply: this.#onReply.bind(this),
      onBroken: (error: Error) => {
        this.#broken ??= error
      },
    }
    this.#callers = await Promise.all(Array.from({ length: sockets }, () => Caller.open(parts)))
    const stopPacing = ratePerSecond === null ? this.#rush() : this.#pace()
    await pause(warmUpSeconds * 1000)
    const measured = await this.#measure(seconds)
    this.#isOver = true
    stopPacing()
    // Waits for open requests, so that none of this run counts in the next one.
    await pause(100)
    for (const caller of this.#callers) caller.close()
    if (this.#broken) throw this.#broken
    return { ...measured, allReplies: this.#allReplies }
  }

  async #measure(seconds: number): Promise<Omit<LoadResult, 'allReplies'>> {
    this.#latency.clear()
    this.#refused = 0
    const cpuBefore = process.cpuUsage()
    const startedMs = performance.now()
    await pause(seconds * 1000)
    // A turn needs a reply to mean anything. On a busy machine a short turn goes on until the first one.
    while (this.#latency.total === 0 && !this.#broken) await pause(TICK_MS)
    const tookMs = performance.now() - startedMs
    const cpu = process.cpuUsage(cpuBefore)
    return {
      perSecond: (this.#latency.total / tookMs) * 1000,
      replies: this.#latency.total,
      refused: this.#refused,
      p50Ms: this.#latency.percentileMs(0.5),
      p99Ms: this.#latency.percentileMs(0.99),
      longestMs: this.#latency.longestMs,
      cpuShare: (cpu.user + cpu.system) / 1000 / tookMs,
    }
  }

  #rush(): () => void {
    for (const caller of this.#callers) this.#send(caller, performance.now())
    return () => {}
  }

  #pace(): () => void {
    this.#idle.push(...this.#callers)
    this.#paceFromMs = performance.now()
    const timer = setInterval(() => this.#sendDue(), TICK_MS)
    return () => clearInterval(timer)
  }

  /**
   * The time of a request begins when it was due, not when a connection was free for it. Otherwise a server that stalls would
   * seem fast, because it would get hardly any requests.
   */
  #sendDue(): void {
    const rate = this.#job.ratePerSecond ?? 0
    const due = Math.floor(((performance.now() - this.#paceFromMs) / 1000) * rate)
    while (this.#issued < due) {
      // In turn, because the server closes a connection that is idle for seconds.
      const caller = this.#idle.shift()
      if (!caller) return
      this.#issued += 1
      this.#send(caller, this.#paceFromMs + (this.#issued / rate) * 1000)
    }
  }

  #send(caller: Caller, begunMs: number): void {
    const request = this.#requests[this.#next]
    this.#next = this.#next + 1 === this.#requests.length ? 0 : this.#next + 1
    if (request) caller.send(request, begunMs)
  }

  #onReply(caller: Caller, begunMs: number, status: number): void {
    const now = performance.now()
    this.#latency.add(now - begunMs)
    this.#allReplies += 1
    if (status !== this.#takenStatus) this.#refused += 1
    if (this.#isOver) return
    if (this.#job.ratePerSecond === null) this.#send(caller, now)
    else {
      this.#idle.push(caller)
      this.#sendDue()
    }
  }
}

function ownRequests({ token, numbers, recipients = 1 }: LoadJob): readonly Buffer[] {
  return Array.from({ length: recipients }, (_, place) =>
    numbers.map((from) => sendRequest({ token, from, to: recipientAt(place) })),
  ).flat()
}
