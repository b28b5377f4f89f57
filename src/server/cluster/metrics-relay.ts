import type { Clock } from '../../core/ports/clock.ts'
import type { MetricsReport } from '../../observability/metrics.ts'
import type { FromChild, ToChild } from './child-messages.ts'

// A child that is stuck must not keep the others from being seen.
const ANSWER_WITHIN_MS = 1_000

type MetricsMessage = Extract<FromChild, { say: 'ask-metrics' | 'report-metrics' }>

interface Question {
  /** The child that asks, and its own number of the question. */
  readonly asker: number
  readonly as: number
  readonly missing: Set<number>
  readonly reports: MetricsReport[]
  readonly cancelDeadline: () => void
}

/**
 * Lets each of several processes show the metrics of all. Any of them may get the request, so figures of
 * one process alone would jump from request to request.
 */
export class MetricsRelay {
  readonly #clock: Clock
  readonly #children = new Map<number, (message: ToChild) => void>()
  readonly #questions = new Map<number, Question>()
  #asked = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  join(number: number, send: (message: ToChild) => void): void {
    this.#children.set(number, send)
  }

  leave(number: number): void {
    this.#children.delete(number)
    for (const id of this.#questions.keys()) this.#answered(id, number)
  }

  hear(number: number, message: MetricsMessage): void {
    if (message.say === 'ask-metrics') {
      this.#ask(number, message.question)
      return
    }
    this.#questions.get(message.question)?.reports.push(message.report)
    this.#answered(message.question, number)
  }

  #ask(asker: number, as: number): void {
    const id = ++this.#asked
    const others = [...this.#children].filter(([number]) => number !== asker)
    const cancelDeadline = this.#clock.after(ANSWER_WITHIN_MS, () => this.#reply(id))
    const missing = new Set(others.map(([number]) => number))
    this.#questions.set(id, { asker, as, missing, reports: [], cancelDeadline })
    for (const [, send] of others) send({ say: 'report-metrics', question: id })
    if (others.length === 0) this.#reply(id)
  }

  #answered(id: number, number: number): void {
    const question = this.#questions.get(id)
    question?.missing.delete(number)
    if (question?.missing.size === 0) this.#reply(id)
  }

  #reply(id: number): void {
    const question = this.#questions.get(id)
    if (!question) return
    this.#questions.delete(id)
    question.cancelDeadline()
    const { asker, as, reports } = question
    this.#children.get(asker)?.({ say: 'metrics-of-others', question: as, reports })
  }
}
