export const LOGINS_AT_ONCE = 10

/** Few sessions of a process log in at once: after a restart hundreds want to, and each costs a tenth of a second of a core. */
export class LoginTurns {
  readonly #mostAtOnce: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(mostAtOnce: number) {
    this.#mostAtOnce = mostAtOnce
  }

  /** Resolves with what ends the turn; calling it twice is harmless. */
  async take(): Promise<() => void> {
    if (this.#running >= this.#mostAtOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running += 1
    let isEnded = false
    return () => {
      if (isEnded) return
      isEnded = true
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running -= 1
    }
  }
}
