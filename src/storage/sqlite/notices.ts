import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { NewNotice, Notices } from '../../core/ports/notices.ts'
import type { GroupCommit } from './group-commit.ts'

/** In the thread that serves, so only for what is rare. */
export class SqliteNotices implements Notices {
  readonly #commits: GroupCommit
  readonly #insert: StatementSync

  constructor(database: DatabaseSync, commits: GroupCommit) {
    this.#commits = commits
    this.#insert = database.prepare(
      `insert into notice (id, account_id, kind, at, key, data)
         values ('ntc_' || lower(hex(randomblob(16))), ?, ?, ?, ?, ?)
         on conflict (account_id, key) where key is not null do nothing`,
    )
  }

  async announce(notices: readonly NewNotice[]): Promise<void> {
    if (notices.length === 0) return
    await this.#commits.submit(() => {
      for (const { accountId, kind, at, key, data } of notices)
        this.#insert.run(accountId, kind, at, key, JSON.stringify(data))
    })
  }
}
