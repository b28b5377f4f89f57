import { setTimeout } from 'node:timers/promises'
import type { Ending, NuncioProcess } from './nuncio-process.ts'

const PAUSE_MS = 100

/** Restarts the service whenever it ends, as the operator's supervisor would, and keeps how it ended. */
export class Supervisor {
  readonly endings: Ending[] = []
  /** When each ending happened, by the wall clock. */
  readonly endedAt: number[] = []
  readonly #service: NuncioProcess
  #isStopping = false
  #loop: Promise<void> = Promise.resolve()

  constructor(service: NuncioProcess) {
    this.#service = service
  }

  start(): void {
    this.#loop = this.#watch()
  }

  /** Stops supervising. The service goes on. */
  async stop(): Promise<void> {
    this.#isStopping = true
    if (!this.#service.isRunning) await this.#loop
  }

  async #watch(): Promise<void> {
    for (;;) {
      const ending = await this.#service.ending
      if (this.#isStopping) return
      this.endings.push(ending)
      this.endedAt.push(Date.now())
      await setTimeout(PAUSE_MS)
      if (this.#isStopping) return
      this.#service.spawn()
    }
  }
}
