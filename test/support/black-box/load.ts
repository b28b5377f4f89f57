import { randomUUID } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { SentRequest } from '../ledger/ledger-input.ts'
import { makeText } from './make-text.ts'
import { createRandom, type Random } from './random.ts'
import { CLOSED_WHEN_IDLE, type SendClient, type TryAnswer } from './send-client.ts'
import { waitUntil } from './wait-until.ts'

const PAUSE_WHEN_REFUSED_MS = 25
const TRIES_AFTER_STOP = 100
// Few, so that each recipient gets many messages, whose order can then be checked.
const RECIPIENTS_OF_EACH = 4

export interface LoadPlan {
  readonly client: Pick<SendClient, 'send'>
  /** Sender numbers. Each has its own client, which sends one message after the other. */
  readonly connections: readonly string[]
  /** Longest pause between two messages of a connection. */
  readonly pauseMs: number
  /** Share of requests that carry an idempotency key and are repeated under it until they are answered. */
  readonly keyedShare: number
  readonly seed: number
  /** Longest text; the contract's limit if not given. */
  readonly textLength?: number
  /** What to send instead of a text; undefined: send a text. It needs an answer, so it carries a key. */
  readonly instead?: (connection: string, random: Random) => Special | undefined
}

export interface Special {
  /** Left out: one of the connection's own recipients. */
  readonly to?: string
  readonly message: Readonly<Record<string, unknown>>
  /** The content that has to arrive. */
  readonly content: SentRequest['content']
}

// The sandbox answers busy twice for this number. Each text to it takes six seconds, and the next ones to it wait that long.
const BUSY_TWICE = '15550100002'
const BUSY_FOR_MS = 6_000

/** Sends a share of the texts to a busy recipient, no faster than it takes them, and at most `ofEach` for each connection. */
export function someDeferred(wanted: {
  readonly share: number
  readonly ofEach: number
}): NonNullable<LoadPlan['instead']> {
  const sent = new Map<string, { readonly count: number; readonly at: number }>()
  return (connection, random) => {
    const { count, at } = sent.get(connection) ?? { count: 0, at: Number.NEGATIVE_INFINITY }
    const now = performance.now()
    if (count === wanted.ofEach || now < at + BUSY_FOR_MS || random.next() >= wanted.share) return undefined
    sent.set(connection, { count: count + 1, at: now })
    const text = `deferred ${connection}-${count}`
    return { to: BUSY_TWICE, message: { type: 'message', message: text }, content: { type: 'message', text } }
  }
}

/** Sends until it is stopped, and keeps what the client knows about every request: one side of the ledger. */
export class Load {
  readonly requests: SentRequest[] = []
  /** How often each kind of answer came: `acked`, a refusal with status and codes, or `unknown` with its reason. */
  readonly answers: Record<string, number> = {}
  readonly #plan: LoadPlan
  #isStopping = false
  #loops: Promise<unknown> = Promise.resolve()

  constructor(plan: LoadPlan) {
    this.#plan = plan
  }

  start(): void {
    this.#isStopping = false
    const loops = this.#plan.connections.map((connection, index) => this.#sendAll(connection, index))
    this.#loops = Promise.all(loops)
    // `stop` reports the rejection; until then it must not count as unhandled.
    this.#loops.catch(() => {})
  }

  /** Stops after the current request. The service should be up, so that it is answered. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await this.#loops
  }

  /** The answers that leave open whether the message was accepted. */
  get unsureAnswers(): Record<string, number> {
    return Object.fromEntries(Object.entries(this.answers).filter(([name]) => name.startsWith('unknown')))
  }

  /** Waits until this many more requests were acknowledged. */
  async waitForAcks(more: number): Promise<void> {
    const enough = this.ackedIds.length + more
    await waitUntil(`${more} more are accepted`, async () => this.ackedIds.length >= enough, { deadlineMs: 60_000 })
  }

  get ackedIds(): string[] {
    return this.requests.flatMap(({ answer }) => (answer.kind === 'acked' ? [answer.messageId] : []))
  }

  async #sendAll(connection: string, index: number): Promise<void> {
    const random = createRandom(this.#plan.seed + index)
    while (!this.#isStopping) {
      const answer = await this.#sendOne({ connection, index }, random)
      await setTimeout(answer === 'acked' ? random.next() * this.#plan.pauseMs : PAUSE_WHEN_REFUSED_MS)
    }
  }

  async #sendOne(
    { connection, index }: { connection: string; index: number },
    random: Random,
  ): Promise<SentRequest['answer']['kind']> {
    // Each request has its own text. It identifies the request in the log even if no answer came.
    const text = makeText(`${connection}-${this.requests.length}`, random, this.#plan.textLength)
    const recipient = `4479${String(index).padStart(6, '0')}0${random.between(1, RECIPIENTS_OF_EACH)}`
    const special = this.#plan.instead?.(connection, random)
    const to = special?.to ?? recipient
    const idempotencyKey = random.next() < this.#plan.keyedShare ? randomUUID() : null
    const content = special?.content ?? { type: 'message', text }
    const request = { connection, to, content, sentAt: performance.now() }
    const place = this.requests.push({ ...request, answer: { kind: 'unknown' } }) - 1

    const message = special?.message ?? { type: 'message', message: text }
    const letter = { from: connection, to, message, idempotencyKey }
    const answer = await this.#tryUntilAnswered(() => this.#plan.client.send(letter), idempotencyKey !== null)

    this.requests[place] = { ...request, answer }
    return answer.kind
  }

  async #tryUntilAnswered(send: () => Promise<TryAnswer>, isRepeatable: boolean): Promise<SentRequest['answer']> {
    let isCertain = true
    for (let triesAfterStop = 0; triesAfterStop < TRIES_AFTER_STOP; triesAfterStop += this.#isStopping ? 1 : 0) {
      const answer = await send()
      this.#count(answer)
      if (answer.kind === 'acked') return { ...answer, at: performance.now() }
      isCertain &&= answer.kind === 'refused'
      if (!isRepeatable || (answer.kind === 'refused' && answer.status >= 400 && answer.status < 500)) break
      await setTimeout(PAUSE_WHEN_REFUSED_MS)
    }
    return { kind: isCertain ? 'refused' : 'unknown' }
  }

  #count(answer: TryAnswer): void {
    // The service did not answer this request and may never have seen it.
    if (answer.kind === 'unknown' && answer.why === CLOSED_WHEN_IDLE) return
    const name = nameAnswer(answer)
    this.answers[name] = (this.answers[name] ?? 0) + 1
  }
}

function nameAnswer(answer: TryAnswer): string {
  if (answer.kind === 'refused') return `${answer.status} ${answer.codes.join(' ')}`
  return answer.kind === 'unknown' ? `unknown ${answer.why}` : answer.kind
}
