interface KeyedSemaphoreLimits {
  readonly mostAtOnce: number
  /** A caller that waits for longer is refused. */
  readonly waitsMs: number
  readonly tooLate: () => Error
}

/** Limits how many calls run at once for each key. The others wait in the order in which they came. */
export class KeyedSemaphore {
  readonly #limits: KeyedSemaphoreLimits
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, (() => void)[]>()

  constructor(limits: KeyedSemaphoreLimits) {
    this.#limits = limits
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
    if (running < this.#limits.mostAtOnce) {
      this.#running.set(key, running + 1)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(key) ?? []
      const timer = setTimeout(() => {
        this.#leave(key, begin)
        reject(this.#limits.tooLate())
      }, this.#limits.waitsMs)
      const begin = () => {
        clearTimeout(timer)
        resolve()
      }
      waiting.push(begin)
      this.#waiting.set(key, waiting)
    })
  }

  #leave(key: string, begin: () => void): void {
    const waiting = this.#waiting.get(key)?.filter((other) => other !== begin) ?? []
    if (waiting.length > 0) this.#waiting.set(key, waiting)
    else this.#waiting.delete(key)
  }

  /** Passes the turn on directly, so that no newer caller gets in between. */
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
