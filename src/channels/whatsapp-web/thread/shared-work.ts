/** Work that is not begun again while it runs: each call meanwhile has its result, too. */
export class SharedWork<Result> {
  #running: Promise<Result> | null = null

  run(work: () => Promise<Result>): Promise<Result> {
    this.#running ??= work().finally(() => {
      this.#running = null
    })
    return this.#running
  }
}
