interface Planned {
  readonly at: number
  readonly order: number
  readonly call: () => void
}

/**
 * Virtual time. Events planned for the same time happen in the order of planning. Everything that follows from one event without
 * waiting is finished before the next event.
 */
export class Schedule {
  #now: number
  #order = 0
  #heap: Planned[] = []
  #working = 0

  constructor(startsAt: number) {
    this.#now = startsAt
  }

  get now(): number {
    return this.#now
  }

  /** In whole milliseconds, like the timers of the real clock. */
  after(delayMs: number, call: () => void): void {
    this.#push({ at: this.#now + Math.max(0, Math.ceil(delayMs)), order: this.#order++, call })
  }

  /** Runs real work, such as a commit, while virtual time waits. It takes no virtual time. */
  async work<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#working += 1
    try {
      return await run()
    } finally {
      this.#working -= 1
    }
  }

  /** Runs planned events until `isOver` returns true or none is left. Returns how many happened. */
  async run(isOver: () => boolean): Promise<number> {
    let happened = 0
    await this.#settle()
    while (!isOver()) {
      const next = this.#pop()
      if (!next) break
      this.#now = next.at
      next.call()
      await this.#settle()
      happened += 1
    }
    return happened
  }

  /** Waits for commits: storage commits at the end of a turn of the real event loop, and the result may cause another commit. */
  async #settle(): Promise<void> {
    do await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#working > 0)
  }

  #push(planned: Planned): void {
    const heap = this.#heap
    let at = heap.push(planned) - 1
    while (at > 0) {
      const above = (at - 1) >> 1
      if (isBefore(heap[above]!, planned)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = planned
  }

  #pop(): Planned | undefined {
    const heap = this.#heap
    const first = heap[0]
    const last = heap.pop()
    if (!last || heap.length === 0) return first
    let at = 0
    for (;;) {
      let below = at * 2 + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below += 1
      if (isBefore(last, heap[below]!)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return first
  }
}

function isBefore(one: Planned, other: Planned): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order)
}
