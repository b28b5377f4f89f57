import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Instant } from '../../../core/ids.ts'
import { type Checkpoint, type CheckpointFile, checkFound, readable } from '../../queries/checkpoint.ts'

/**
 * Stores the checkpoint of the database in a file beside it. A database that was restored from a backup lacks what was sent
 * since, and would send it again (G12).
 */
export class RollbackDetector {
  readonly #file: CheckpointFile
  readonly #readCheckpoint: StatementSync
  readonly #hold: StatementSync
  readonly #markPossiblySuperseded: StatementSync
  readonly #countHold: StatementSync
  readonly #moveOn: StatementSync

  constructor(database: DatabaseSync, file: CheckpointFile) {
    this.#file = file
    this.#readCheckpoint = database.prepare('select installation, mark, holds from checkpoint')
    this.#hold = database.prepare('insert into hold (only, since, reason) values (1, ?, ?) on conflict do nothing')
    this.#markPossiblySuperseded = database.prepare(
      'update open_attempt set possibly_superseded_sequence = message_sequence',
    )
    this.#countHold = database.prepare('update checkpoint set holds = max(holds, ?) + 1')
    this.#moveOn = database.prepare('update checkpoint set mark = mark + 1')
  }

  /** Holds all lanes when the database is older than it was, and says why. Inside a transaction. Null: all is well. */
  compare(now: Instant): string | null {
    const remembered = this.#file.read()
    const finding = checkFound(remembered, this.#found())
    if (finding.is === 'as-remembered') return null
    // Even if a person put another database here on purpose, what waits in it may have been sent since.
    this.#hold.run(now, finding.reason)
    this.#markPossiblySuperseded.run()
    this.#countHold.run(readable(remembered)?.holds ?? 0)
    return finding.reason
  }

  /** Inside a transaction; `keep` once that has committed. */
  moveOn(): void {
    this.#moveOn.run()
  }

  keep(): Promise<void> {
    return this.#file.write(this.#found())
  }

  #found(): Checkpoint {
    const { installation, mark, holds } = this.#readCheckpoint.get() as {
      installation: string
      mark: number
      holds: number
    }
    return { installation, mark, holds, server: null }
  }
}
