import { DatabaseError } from 'pg'
import type { WorkerId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { type PgConnection, StatementRefused, StorageDamaged } from './pg-connection.ts'

// Nothing was written then.
const CANCELLED = '57014'

interface FencedConnectionParts {
  readonly number: number
  readonly pgConnection: PgConnection
  /** After each commit; must be quick. */
  readonly onCommit?: ((rows: number, tookMs: number) => void) | null
  /** Called when a batch could not be written, and others could not be either. */
  readonly onError?: (error: StorageUnavailable) => void
}

/**
 * One connection of this process to the database, and how many of its batches have committed. The database keeps the
 * same count, in the same transaction as the batch: if it ever knows of fewer, it has gone back (G12).
 */
export class FencedConnection {
  readonly worker: WorkerId
  readonly number: number
  readonly pgConnection: PgConnection
  readonly #onCommit: ((rows: number, tookMs: number) => void) | null
  readonly #onError: (error: StorageUnavailable) => void
  #begun = 0
  #confirmed = 0
  /** A count past that of a batch with an unknown result, until that batch or a later one is written; null when there is none. */
  #past: number | null = null

  constructor(worker: WorkerId, { number, pgConnection, onCommit = null, onError = () => {} }: FencedConnectionParts) {
    this.worker = worker
    this.number = number
    this.pgConnection = pgConnection
    this.#onCommit = onCommit
    this.#onError = onError
  }

  /** The largest count whose commit the database has confirmed. */
  get confirmed(): number {
    return this.#confirmed
  }

  /** The database knows of fewer, and that was handled. */
  settleFor(count: number): void {
    this.#confirmed = Math.min(this.#confirmed, count)
  }

  /** Runs one statement that notes the count it is given, in its own transaction; `rows` acceptances or steps share it. */
  async run<Result>(rows: number, statement: (count: number) => Promise<Result>): Promise<Result> {
    this.#begun += 1
    const count = this.#begun
    const began = performance.now()
    try {
      const result = await statement(count)
      this.#confirmed = count
      if (this.#past !== null && count > this.#past) this.#past = null
      this.#onCommit?.(rows, performance.now() - began)
      return result
    } catch (error) {
      if (error instanceof StorageUnavailable && error.unknown) {
        this.#begun += 1
        this.#past = this.#begun
      }
      if (isCancelled(error)) throw new StatementRefused('contended', error)
      if (error instanceof StorageUnavailable && !(error instanceof StorageDamaged)) this.#onError(error)
      throw error
    }
  }

  /** A batch was lost on its way, and may still arrive. */
  get hasLost(): boolean {
    return this.#past !== null
  }

  /** From now on the lost batch is rejected if it arrives, unless it was written already. Sent over any connection. */
  async passLost(pgConnection: PgConnection, lockWithinMs: number): Promise<void> {
    const past = this.#past
    if (past === null) return
    await pgConnection.query('select begin_durable_write($1), record_fence($2, $3, $4)', [
      lockWithinMs,
      this.worker,
      this.number,
      past,
    ])
    if (this.#past === past) this.#past = null
  }
}

/**
 * The operator's `statement_timeout` is shorter than a wait for a lock may be, or a person has cancelled the statement. Then only the
 * blocked request must be retried, as after a lock timeout, and not all that share its batch.
 */
function isCancelled(error: unknown): error is Error {
  return error instanceof StorageUnavailable && error.cause instanceof DatabaseError && error.cause.code === CANCELLED
}
