/**
 * Whether few who wait should go on waiting for a batch that is on its way, to go together with those who come meanwhile: a
 * batch costs as much as dozens of those in it. But only for a little: one that is stuck must not hold up the others.
 */
export class CoalescingWindow {
  readonly #forMs: number
  readonly #onOver: () => void
  #startedAt = Number.NEGATIVE_INFINITY
  #isTimed = false

  /** `onOver` is called when they need not wait any more, once for each time that somebody was told to. */
  constructor(forMs: number, onOver: () => void) {
    this.#forMs = forMs
    this.#onOver = onOver
  }

  noteStart(): void {
    this.#startedAt = performance.now()
  }

  /** To be asked while a batch is on its way: whether the last of them began only a moment ago. */
  isOn(): boolean {
    const leftMs = this.#startedAt + this.#forMs - performance.now()
    if (leftMs <= 0) return false
    if (!this.#isTimed) {
      this.#isTimed = true
      setTimeout(() => {
        this.#isTimed = false
        this.#onOver()
      }, leftMs)
    }
    return true
  }
}
