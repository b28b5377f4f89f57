const CHECK_EVERY_MS = 5_000

/** Ends a line on which nothing has come for too long. The library would take up to 95 s. */
export class LineWatch {
  readonly #timer: NodeJS.Timeout
  #lastAt = performance.now()

  constructor({ mostSilentMs, onDead }: { readonly mostSilentMs: number; readonly onDead: () => void }) {
    this.#timer = setInterval(() => {
      if (performance.now() - this.#lastAt > mostSilentMs) onDead()
    }, CHECK_EVERY_MS)
  }

  frameCame(): void {
    this.#lastAt = performance.now()
  }

  stop(): void {
    clearInterval(this.#timer)
  }
}
