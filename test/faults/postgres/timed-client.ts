import type { Letter, SendClient, TryAnswer } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'

interface TimedCall {
  readonly startedAt: number
  readonly endedAt: number
  readonly answer: TryAnswer
}

/** Passes calls on, and records when each was made and answered, by the monotonic clock. */
export class TimedClient implements Pick<SendClient, 'send'> {
  readonly calls: TimedCall[] = []
  readonly #client: Pick<SendClient, 'send'>

  constructor(client: Pick<SendClient, 'send'>) {
    this.#client = client
  }

  async send(letter: Letter): Promise<TryAnswer> {
    const startedAt = performance.now()
    const answer = await this.#client.send(letter)
    this.calls.push({ startedAt, endedAt: performance.now(), answer })
    return answer
  }

  get slowestMs(): number {
    return Math.round(this.calls.reduce((slowest, call) => Math.max(slowest, call.endedAt - call.startedAt), 0))
  }

  /** Resolves once a request that was made after `moment` is answered with 200. */
  async untilAckAfter(moment: number): Promise<void> {
    const isThere = async () => Number.isFinite(this.firstAckAfter(moment))
    await waitUntil('a later request is accepted', isThere, { deadlineMs: 60_000 })
  }

  /** The time from `moment` until a request made later was answered with 200. */
  firstAckAfter(moment: number): number {
    const acks = this.calls.filter(({ startedAt, answer }) => startedAt >= moment && answer.kind === 'acked')
    return Math.round(acks.reduce((first, { endedAt }) => Math.min(first, endedAt - moment), Number.POSITIVE_INFINITY))
  }
}
