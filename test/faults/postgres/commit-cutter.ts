import type { Random } from '../../support/black-box/random.ts'
import type { Result, TcpProxy } from '../../support/tcp-proxy.ts'

/** What is cut, by a word of its statement. */
const STATEMENTS = { accept: 'accept_requests(', record: 'write_steps(' } as const
type CutStatement = keyof typeof STATEMENTS

interface CutPlan {
  /** Longest pause between two cuts of the same kind. */
  readonly everyMs: number
  readonly random: Random
}

// A name and the text that it stands for, as they are sent once in each session.
const PREPARED = /(nuncio_[0-9a-f]+)\0([^\0]+)\0/g

// Now and then the statement itself is lost: for the client, it is the same.
const SHARE_OF_REQUESTS = 0.25

/**
 * Cuts the line of one worker to the database, again and again, between a statement and its reply: it has committed, and
 * no client is notified.
 */
export class CommitCutter {
  /** How often which reply was lost, and how often the statement before it. */
  readonly replies: Record<CutStatement, number> = { accept: 0, record: 0 }
  readonly requests: Record<CutStatement, number> = { accept: 0, record: 0 }
  readonly #plan: CutPlan
  readonly #proxy: TcpProxy
  readonly #awaited = new Map<number, CutStatement>()
  readonly #nextAt: Record<CutStatement, number> = { accept: 0, record: 0 }
  /** The names under which sessions have prepared them. They are made of the text, so they hold for every session. */
  readonly #names = new Map<string, CutStatement>()

  #isCutting = false

  /** Make it before the worker connects: a session names its statements only once. */
  constructor(proxy: TcpProxy, plan: CutPlan) {
    this.#proxy = proxy
    this.#plan = plan
    proxy.onClientData = (chunk, connection) => this.#decideStatement(chunk, connection)
    proxy.onServerData = (_, connection) => this.#decideReply(connection)
  }

  start(): void {
    this.#isCutting = true
  }

  stop(): void {
    this.#proxy.heal()
  }

  get total(): number {
    return [...Object.values(this.replies), ...Object.values(this.requests)].reduce((sum, count) => sum + count)
  }

  #decideStatement(chunk: Buffer, connection: number): Result {
    const kind = this.#kindOf(chunk)
    const { random, everyMs } = this.#plan
    if (!this.#isCutting || !kind || performance.now() < this.#nextAt[kind]) return 'forward'
    this.#nextAt[kind] = performance.now() + random.next() * everyMs
    if (random.next() < SHARE_OF_REQUESTS) {
      this.requests[kind] += 1
      return 'cut'
    }
    this.#awaited.set(connection, kind)
    return 'forward'
  }

  #kindOf(chunk: Buffer): CutStatement | undefined {
    const kinds = Object.keys(STATEMENTS) as CutStatement[]
    for (const [, name = '', sql = ''] of chunk.toString('latin1').matchAll(PREPARED)) {
      const kind = kinds.find((each) => sql.includes(STATEMENTS[each]))
      if (kind) this.#names.set(name, kind)
    }
    const [, named] = [...this.#names].find(([name]) => chunk.includes(name)) ?? []
    return named ?? kinds.find((each) => chunk.includes(STATEMENTS[each]))
  }

  #decideReply(connection: number): Result {
    const kind = this.#awaited.get(connection)
    if (!kind) return 'forward'
    this.#awaited.delete(connection)
    this.replies[kind] += 1
    return 'cut'
  }
}
