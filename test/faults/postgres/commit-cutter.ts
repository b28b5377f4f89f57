import type { Random } from '../../support/black-box/random.ts'
import type { TcpProxy, Verdict } from '../../support/tcp-proxy.ts'

/** What is cut, by a word of its statement. */
const STATEMENTS = { accept: 'accept_batch(', record: 'record_step' } as const
export type CutStatement = keyof typeof STATEMENTS

export interface CutPlan {
  /** Longest pause between two cuts of the same kind. */
  readonly everyMs: number
  readonly random: Random
}

// Now and then the statement itself is lost: to the one who asked, it looks the same.
const SHARE_OF_REQUESTS = 0.25

/**
 * Cuts the line of one worker to the database, again and again, between a statement and its reply: it has committed, and
 * nobody is told.
 */
export class CommitCutter {
  /** How often which reply was lost, and how often the statement before it. */
  readonly replies: Record<CutStatement, number> = { accept: 0, record: 0 }
  readonly requests: Record<CutStatement, number> = { accept: 0, record: 0 }
  readonly #plan: CutPlan
  readonly #proxy: TcpProxy
  readonly #awaited = new Map<number, CutStatement>()
  readonly #nextAt: Record<CutStatement, number> = { accept: 0, record: 0 }

  constructor(proxy: TcpProxy, plan: CutPlan) {
    this.#proxy = proxy
    this.#plan = plan
  }

  start(): void {
    this.#proxy.onClientData = (chunk, connection) => this.#judgeStatement(chunk, connection)
    this.#proxy.onServerData = (_, connection) => this.#judgeReply(connection)
  }

  stop(): void {
    this.#proxy.heal()
  }

  get total(): number {
    return [...Object.values(this.replies), ...Object.values(this.requests)].reduce((sum, count) => sum + count)
  }

  #judgeStatement(chunk: Buffer, connection: number): Verdict {
    const kinds = Object.keys(STATEMENTS) as CutStatement[]
    const kind = kinds.find((each) => chunk.includes(STATEMENTS[each]))
    const { random, everyMs } = this.#plan
    if (!kind || performance.now() < this.#nextAt[kind]) return 'forward'
    this.#nextAt[kind] = performance.now() + random.next() * everyMs
    if (random.next() < SHARE_OF_REQUESTS) {
      this.requests[kind] += 1
      return 'cut'
    }
    this.#awaited.set(connection, kind)
    return 'forward'
  }

  #judgeReply(connection: number): Verdict {
    const kind = this.#awaited.get(connection)
    if (!kind) return 'forward'
    this.#awaited.delete(connection)
    this.replies[kind] += 1
    return 'cut'
  }
}
