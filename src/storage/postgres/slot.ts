import type { WorkerId } from '../../core/ids.ts'
import type { Link } from './link.ts'

interface SlotParts {
  readonly number: number
  readonly link: Link
  /** After each commit; must be quick. */
  readonly onCommit?: ((rows: number, tookMs: number) => void) | null
}

/**
 * One connection of this process to the database, and how many of its batches have committed. The database keeps the
 * same count, in the same transaction as the batch: if it ever knows of fewer, it has gone back (G12).
 */
export class Slot {
  readonly worker: WorkerId
  readonly number: number
  readonly link: Link
  readonly #onCommit: ((rows: number, tookMs: number) => void) | null
  #begun = 0
  #confirmed = 0

  constructor(worker: WorkerId, { number, link, onCommit = null }: SlotParts) {
    this.worker = worker
    this.number = number
    this.link = link
    this.#onCommit = onCommit
  }

  /** The largest count whose commit the database has confirmed. */
  get confirmed(): number {
    return this.#confirmed
  }

  /** The database knows of fewer, and that has been dealt with. */
  settleFor(count: number): void {
    this.#confirmed = Math.min(this.#confirmed, count)
  }

  /** Runs one statement that notes the count it is given, in its own transaction; `rows` acceptances or steps share it. */
  async run<Result>(rows: number, statement: (count: number) => Promise<Result>): Promise<Result> {
    this.#begun += 1
    const count = this.#begun
    const began = performance.now()
    const result = await statement(count)
    this.#confirmed = count
    this.#onCommit?.(rows, performance.now() - began)
    return result
  }
}
