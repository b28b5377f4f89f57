import { createHash, randomBytes } from 'node:crypto'
import type { AccountId, ConnectionId, MessageId, TokenId } from '../../../src/core/ids.ts'
import type { MessageState } from '../../../src/core/message/message.ts'
import type { AcceptResult, Candidate, Intake, RefusedRequest, SummedRefusals } from '../../../src/core/ports/intake.ts'
import type { Token } from '../../../src/core/token/token.ts'
import { createToken } from '../../../src/core/token/token-format.ts'

export const ACCOUNT = 'account-1' as AccountId
export const FROM = '14155550100'
const CONNECTION = 'connection-1' as ConnectionId

export interface Held {
  /** Resolves once a request has reached storage. */
  readonly reached: Promise<void>
  release(as: AcceptResult): void
}

interface HeldLookUps {
  release(): void
  fail(error: Error): void
}

/** An intake that keeps everything in memory, with configurable answers. */
export class StubIntake implements Intake {
  readonly accepted: Candidate[] = []
  readonly refused: RefusedRequest[] = []
  readonly summed: SummedRefusals[] = []
  readonly connections = new Map([[FROM, CONNECTION]])
  /** Full lanes by number, and the whole account under its own id. */
  readonly full = new Set<string>()
  /** Overrides the result of `accept`. */
  answer: ((candidate: Candidate) => AcceptResult | Promise<AcceptResult>) | null = null
  canLog = true
  /** The state of the message that a repeat finds. */
  stateOfMessages: MessageState = 'QUEUED'
  lookUps = 0
  /** The keys that were looked up. */
  readonly keyLookUps: string[] = []
  /** Look-ups wait for this, as for storage on another machine. Null: they are answered at once. */
  lookUpsWaitFor: Promise<void> | null = null
  readonly #tokens = new Map<string, Token>()
  readonly #keys = new Map<string, { readonly fingerprint: string; readonly messageId: MessageId }>()

  /** Adds a token and returns its text. */
  addToken(facts: Partial<Token> = {}): string {
    const text = createToken(randomBytes)
    const token: Token = {
      id: `token-${this.#tokens.size + 1}` as TokenId,
      accountId: ACCOUNT,
      events: ['messaging.send_message'],
      expiresAt: Number.MAX_SAFE_INTEGER,
      deletedAt: null,
      connectionIds: null,
      sourceRanges: null,
      ...facts,
    }
    this.#tokens.set(createHash('sha256').update(text).digest('hex'), token)
    return text
  }

  /** Holds new candidates back until their result is given. */
  hold(): Held {
    const reached = Promise.withResolvers<void>()
    const result = Promise.withResolvers<AcceptResult>()
    this.answer = () => {
      reached.resolve()
      return result.promise
    }
    return { reached: reached.promise, release: (as) => result.resolve(as) }
  }

  /** Holds back new look-ups. */
  holdLookUps(): HeldLookUps {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.lookUpsWaitFor = promise
    // It may fail before the promise has a handler.
    promise.catch(() => {})
    return { release: resolve, fail: reject }
  }

  /** Answers new look-ups, but only in a later turn. */
  answerLookUpsLater(): this {
    this.lookUpsWaitFor = Promise.resolve()
    return this
  }

  findToken(tokenSha256: Buffer): Token | null | Promise<Token | null> {
    this.lookUps += 1
    return this.#answer(() => this.#tokens.get(tokenSha256.toString('hex')) ?? null)
  }

  namesMessage(accountId: AccountId, key: string): boolean | Promise<boolean> {
    this.keyLookUps.push(key)
    return this.#answer(() => this.#keys.has(`${accountId} ${key}`))
  }

  isBacklogFull(accountId: AccountId, from: string | null): 'connection_backlog_full' | 'account_backlog_full' | null {
    if (this.full.has(accountId)) return 'account_backlog_full'
    return from !== null && this.full.has(from) ? 'connection_backlog_full' : null
  }

  async accept(candidate: Candidate): Promise<AcceptResult> {
    // Like storage, answers come in a later turn, for all calls of one turn together.
    await new Promise(setImmediate)
    return this.answer ? this.answer(candidate) : this.#decide(candidate)
  }

  async logRefused(request: RefusedRequest): Promise<boolean> {
    await new Promise(setImmediate)
    if (this.canLog) this.refused.push(request)
    return this.canLog
  }

  async logSummed(sum: SummedRefusals): Promise<boolean> {
    await new Promise(setImmediate)
    if (this.canLog) this.summed.push(sum)
    return this.canLog
  }

  #answer<Found>(find: () => Found): Found | Promise<Found> {
    return this.lookUpsWaitFor ? this.lookUpsWaitFor.then(() => new Promise(setImmediate)).then(find) : find()
  }

  #decide(candidate: Candidate): AcceptResult {
    const { accountId, idempotency, from } = candidate
    const earlier = idempotency && this.#keys.get(`${accountId} ${idempotency.key}`)
    if (earlier && earlier.fingerprint !== idempotency?.fingerprint) {
      return { kind: 'refused', code: 'idempotency_key_reused' }
    }
    if (earlier) return { kind: 'replayed', messageId: earlier.messageId, state: this.stateOfMessages }
    const connectionId = this.connections.get(from)
    const { connectionIds } = this.#tokenOf(candidate.tokenId)
    if (connectionIds && (!connectionId || !connectionIds.includes(connectionId))) {
      return { kind: 'refused', code: 'connection_not_allowed' }
    }
    if (!connectionId) return { kind: 'refused', code: 'connection_not_found' }
    this.accepted.push(candidate)
    const messageId = `message-${this.accepted.length}` as MessageId
    if (idempotency)
      this.#keys.set(`${accountId} ${idempotency.key}`, { fingerprint: idempotency.fingerprint, messageId })
    return { kind: 'accepted', messageId, connectionId, sequence: 1 }
  }

  #tokenOf(id: TokenId): Token {
    const token = [...this.#tokens.values()].find((each) => each.id === id)
    if (!token) throw new Error(`No token ${id}`)
    return token
  }
}
