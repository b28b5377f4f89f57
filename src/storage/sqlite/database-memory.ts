import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Instant } from '../../core/ids.ts'
import { judgeFound, type Remembered, type RemembranceFile } from '../shared/remembrance.ts'

/**
 * Remembers, in a file beside the database, how far it had got: one that was put back from a backup knows nothing of
 * what was sent since, and would have it sent again (G12).
 */
export class DatabaseMemory {
  readonly #file: RemembranceFile
  readonly #look: StatementSync
  readonly #hold: StatementSync
  readonly #moveTo: StatementSync

  constructor(database: DatabaseSync, file: RemembranceFile) {
    this.#file = file
    this.#look = database.prepare('select installation, mark from remembrance')
    this.#hold = database.prepare('insert into hold (only, since, reason) values (1, ?, ?) on conflict do nothing')
    this.#moveTo = database.prepare('update remembrance set mark = max(mark, ?) + 1')
  }

  /** Holds all lanes when the database is older than it was, and says why. Inside a transaction. Null: all is well. */
  compare(now: Instant): string | null {
    const remembered = this.#file.read()
    const finding = judgeFound(remembered, this.#found())
    if (finding.is === 'as-remembered') return null
    // Whose database is put in the place of another may have a reason to, but not to send what that one had waiting.
    this.#hold.run(now, finding.reason)
    this.#moveTo.run(remembered?.mark ?? 0)
    return finding.reason
  }

  /** Moves the mark on. Inside a transaction; `keep` once that has committed. */
  move(): void {
    this.#moveTo.run(0)
  }

  keep(): void {
    this.#file.write(this.#found())
  }

  #found(): Remembered {
    const row = this.#look.get() as { installation: string; mark: number }
    return { ...row, timeline: null, isSynchronous: false }
  }
}
