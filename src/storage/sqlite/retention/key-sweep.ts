import type { DatabaseSync } from 'node:sqlite'
import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import type { Clock } from '../../../core/ports/clock.ts'

// A millisecond or two of the commit that it shares.
const KEYS_PER_STEP = 200
// So it takes at most a tenth of the thread, and still forgets several thousand a second: more than are accepted.
const REST_TIMES = 10
const LEAST_REST_MS = 5

interface KeySweepParts {
  readonly database: DatabaseSync
  readonly submit: <Result>(run: () => Result) => Promise<Result>
  readonly clock: Pick<Clock, 'now' | 'after'>
}

/** Forgets the idempotency keys whose time is over: in small steps, with rests between them, until none is left. */
export class KeySweep {
  readonly #parts: KeySweepParts
  #isSweeping = false
  #isStopped = false
  #cancel: (() => void) | null = null

  constructor(parts: KeySweepParts) {
    this.#parts = parts
  }

  /** Resolves when no expired key is left, or it was stopped. Does nothing while another sweep runs. */
  async sweep(): Promise<void> {
    if (this.#isSweeping) return
    this.#isSweeping = true
    try {
      while (!this.#isStopped) {
        const { forgotten, tookMs } = await this.#step()
        if (forgotten < KEYS_PER_STEP) return
        await this.#rest(tookMs)
      }
    } finally {
      this.#isSweeping = false
    }
  }

  /** No step begins after it. */
  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
  }

  #step(): Promise<{ readonly forgotten: number; readonly tookMs: number }> {
    const { database, submit, clock } = this.#parts
    return submit(() => {
      const begunAt = performance.now()
      const { changes } = database
        .prepare(
          'delete from idempotency where (account_id, key) in (select account_id, key from idempotency where accepted_at < ? order by accepted_at limit ?)',
        )
        .run(clock.now() - IDEMPOTENCY_KEPT_MS, KEYS_PER_STEP)
      return { forgotten: Number(changes), tookMs: performance.now() - begunAt }
    })
  }

  #rest(tookMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(Math.max(LEAST_REST_MS, tookMs * REST_TIMES), resolve)
      this.#cancel = () => {
        cancel()
        resolve()
      }
    })
  }
}
