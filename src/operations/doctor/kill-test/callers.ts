import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Acknowledged } from './check-ledger.ts'

const SEND_PATH = '/chat/api/v1/public/message/send'
const RECIPIENT = '447900000001'
const PAUSE_MS = 20
const AGAIN_AFTER_MS = 15
// For a call on a connection that broke unnoticed.
const ANSWER_WITHIN_MS = 10_000

interface CallersPlan {
  readonly token: string
  /** Where the service takes calls at this moment; null while it does not. */
  readonly urlOf: () => string | null
  readonly signal: AbortSignal
}

export interface Answered extends Acknowledged {
  /** By the monotonic clock. */
  readonly at: number
}

/**
 * One careful caller for each lane. It sends each message under its own key, again under the same key until it is answered, and
 * only then the next.
 */
export class Callers {
  readonly #plan: CallersPlan
  readonly #loops: Promise<void>[] = []
  readonly answered: Answered[] = []
  #isStopping = false

  constructor(plan: CallersPlan) {
    this.#plan = plan
  }

  add(lane: string): void {
    const loop = this.#callAgainAndAgain(lane)
    // The caller of `stop` sees it; until then it must not count as unhandled.
    loop.catch(() => {})
    this.#loops.push(loop)
  }

  /** Resolves once each has been answered what it last asked. Rejects when a caller was refused. */
  async stop(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }

  async #callAgainAndAgain(lane: string): Promise<void> {
    const { signal } = this.#plan
    for (let number = 1; !this.#isStopping; number++) {
      const messageId = await this.#sendUntilAnswered(lane, number)
      this.answered.push({ lane, number, messageId, at: performance.now() })
      await pause(PAUSE_MS * Math.random() * 2, undefined, { signal })
    }
  }

  async #sendUntilAnswered(lane: string, number: number): Promise<string> {
    const { signal } = this.#plan
    const key = randomUUID()
    for (;;) {
      signal.throwIfAborted()
      const messageId = await this.#send({ lane, number, key })
      if (messageId !== null) return messageId
      await pause(AGAIN_AFTER_MS, undefined, { signal })
    }
  }

  /** Null when it is unknown, or it is to be sent again. */
  async #send({ lane, number, key }: { lane: string; number: number; key: string }): Promise<string | null> {
    const url = this.#plan.urlOf()
    if (url === null) return null
    const reply = await post(url + SEND_PATH, {
      headers: { 'content-type': 'application/json', 'x-api-key': this.#plan.token, 'idempotency-key': key },
      body: JSON.stringify({
        from: lane,
        // One recipient for each lane, because order is promised per recipient.
        to: RECIPIENT,
        message: { type: 'message', message: String(number) },
      }),
    })
    if (reply === null || reply.status >= 429) return null
    const messageId = reply.headers.get('x-message-id')
    if (reply.status === 200 && messageId !== null) return messageId
    throw new Error(`A call was answered with ${reply.status} in the kill test.`)
  }
}

/** Null when the connection broke. */
async function post(url: string, request: RequestInit): Promise<Response | null> {
  try {
    const response = await fetch(url, { ...request, method: 'POST', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) })
    await response.arrayBuffer()
    return response
  } catch {
    return null
  }
}
