import type { Random } from '../../support/black-box/random.ts'
import type { Result, TcpProxy } from '../../support/tcp-proxy.ts'

/** The statements whose replies are cut, recognised by a word in them. */
const STATEMENTS = { accept: 'accept_requests(', record: 'write_steps(' } as const
type CutStatement = keyof typeof STATEMENTS

interface CutPlan {
  /** The longest pause between two cuts of the same kind. */
  readonly everyMs: number
  readonly random: Random
}

// A name and the text that it stands for. Each session sends them once.
const PREPARED = /(nuncio_[0-9a-f]+)\0([^\0]+)\0/g

// Sometimes the statement itself is lost. For the client this is the same.
const SHARE_OF_REQUESTS = 0.25

/**
 * Cuts the connection of one worker to the database, repeatedly, between a statement and its reply: the statement has committed,
 * and the client does not know.
 */
export class CommitCutter {
  /** How many replies of each kind were lost, and how many statements. */
  readonly replies: Record<CutStatement, number> = { accept: 0, record: 0 }
  readonly requests: Record<CutStatement, number> = { accept: 0, record: 0 }
  readonly #plan: CutPlan
  readonly #proxy: TcpProxy
  readonly #awaited = new Map<number, CutStatement>()
  readonly #nextAt: Record<CutStatement, number> = { accept: 0, record: 0 }
  /** The names of the prepared statements. A name is derived from the text, so it is the same in every session. */
  readonly #names = new Map<string, CutStatement>()

  #isCutting = false

  /** Create it before the worker connects: a session sends the text of a statement only once. */
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
