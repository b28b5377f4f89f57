import type { Clock } from '../../core/ports/clock.ts'

export const LOGINS_AT_ONCE = 10
export const LOGINS_A_SECOND = 20

const SECOND_MS = 1_000

interface LoginLimits {
  readonly mostAtOnce: number
  readonly mostASecond: number
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
}

/**
 * Lets few sessions of a process log in at once: after a restart there may be hundreds, and each login takes a core for a tenth of
 * a second. Also limits how many begin in a second, because WhatsApp sees all of them come from one address.
 */
export class LoginTurns {
  readonly #limits: LoginLimits
  readonly #waiting: (() => void)[] = []
  /** When the last turns began; as many as may begin in a second. */
  readonly #begunAt: number[] = []
  #running = 0
  #isStopped = false
  #cancelTimer: (() => void) | null = null

  constructor(limits: LoginLimits) {
    this.#limits = limits
  }

  /** Resolves with a function that ends the turn. Calling it twice is harmless. */
  async take(): Promise<() => void> {
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
      this.#beginNext()
    })
    let isEnded = false
    return () => {
      if (isEnded) return
      isEnded = true
      this.#running -= 1
      this.#beginNext()
    }
  }

  /** No turn begins any more. */
  stop(): void {
    this.#isStopped = true
    this.#waiting.length = 0
    this.#cancelTimer?.()
  }

  #beginNext(): void {
    const { mostAtOnce, mostASecond, clock } = this.#limits
    while (this.#waiting.length > 0 && this.#running < mostAtOnce && !this.#cancelTimer && !this.#isStopped) {
      const now = clock.monotonic()
      const full = this.#begunAt.length < mostASecond ? null : (this.#begunAt[0] ?? null)
      if (full !== null && now - full < SECOND_MS) {
        this.#cancelTimer = clock.after(full + SECOND_MS - now, () => {
          this.#cancelTimer = null
          this.#beginNext()
        })
        return
      }
      if (full !== null) this.#begunAt.shift()
      this.#begunAt.push(now)
      this.#running += 1
      this.#waiting.shift()?.()
    }
  }
}
