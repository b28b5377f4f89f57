/** Lets a few things of each key run at once; the others wait for their turn, in the order in which they came. */
export class TakeTurns {
  readonly #mostAtOnce: number
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(mostAtOnce: number) {
    this.#mostAtOnce = mostAtOnce
  }

  async run<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    await this.#turn(key)
    try {
      return await work()
    } finally {
      this.#pass(key)
    }
  }

  #turn(key: string): Promise<void> {
    const running = this.#running.get(key) ?? 0
    if (running < this.#mostAtOnce) {
      this.#running.set(key, running + 1)
      return Promise.resolve()
    }
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key) ?? []
      waiting.push(resolve)
      this.#waiting.set(key, waiting)
    })
  }

  /** Hands the turn on, so that nobody who comes just now gets in between. */
  #pass(key: string): void {
    const waiting = this.#waiting.get(key)
    const next = waiting?.shift()
    if (waiting?.length === 0) this.#waiting.delete(key)
    if (next) {
      next()
      return
    }
    const left = (this.#running.get(key) ?? 1) - 1
    if (left > 0) this.#running.set(key, left)
    else this.#running.delete(key)
  }
}
