import type { WorkerId } from '../../core/ids.ts'
import type { Link } from './link.ts'

/**
 * One connection of this process to the database, and how many of its batches have committed. The database keeps the
 * same count, in the same transaction as the batch: if it ever knows of fewer, it has gone back (G12).
 */
export class Slot {
  readonly worker: WorkerId
  readonly number: number
  readonly link: Link
  #begun = 0
  #confirmed = 0

  constructor(worker: WorkerId, number: number, link: Link) {
    this.worker = worker
    this.number = number
    this.link = link
  }

  /** The largest count whose commit the database has confirmed. */
  get confirmed(): number {
    return this.#confirmed
  }

  /** The database knows of fewer, and that has been dealt with. */
  settleFor(count: number): void {
    this.#confirmed = Math.min(this.#confirmed, count)
  }

  /** Runs one statement that notes the count it is given, in its own transaction. */
  async run<Result>(statement: (count: number) => Promise<Result>): Promise<Result> {
    this.#begun += 1
    const count = this.#begun
    const result = await statement(count)
    this.#confirmed = count
    return result
  }
}
