import { GraphError } from './graph-error.ts'

// "1 message per 6 seconds to the same user", with a burst of at most 45 that is paid back later.
const PAIR_BURST = 45
const PAIR_EVERY_MS = 6_000
const SECOND_MS = 1_000

interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** The two rate limits: of a number in all, and of a number to one person. */
export class PaceLimits {
  readonly #buckets = new Map<string, Bucket>()

  /** Counts a message. If a limit is reached, refuses it without counting. */
  take(pair: { phoneNumberId: string; waId: string; throughputPerSecond: number }, now: number): void {
    const { phoneNumberId, waId, throughputPerSecond } = pair
    const number = this.#fill(phoneNumberId, {
      most: throughputPerSecond,
      everyMs: SECOND_MS / throughputPerSecond,
      now,
    })
    if (number < 1) {
      throw new GraphError(130429, {
        details:
          'Message failed to send because there were too many messages sent from this phone number in a short period of time',
      })
    }
    const both = `${phoneNumberId} ${waId}`
    const person = this.#fill(both, { most: PAIR_BURST, everyMs: PAIR_EVERY_MS, now })
    if (person < 1) {
      throw new GraphError(131056, {
        details:
          'Message failed to send because there were too many messages sent from this phone number to the same phone number in a short period of time',
      })
    }
    this.#buckets.set(phoneNumberId, { tokens: number - 1, at: now })
    this.#buckets.set(both, { tokens: person - 1, at: now })
  }

  #fill(name: string, { most, everyMs, now }: { most: number; everyMs: number; now: number }): number {
    const { tokens, at } = this.#buckets.get(name) ?? { tokens: most, at: now }
    return Math.min(most, tokens + Math.max(0, now - at) / everyMs)
  }
}
