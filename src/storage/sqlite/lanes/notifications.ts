import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Instant } from '../../../core/ids.ts'
import type { DeliveryWatch } from '../../../core/ports/deliveries.ts'
import type { NewNotification, Notifications } from '../../../core/ports/notifications.ts'
import { noticeText, POLL_DELIVERIES } from '../../queries/webhooks/write-notifications.ts'
import type { GroupCommit } from '../connection/group-commit.ts'

/** Runs in the serving thread, so only for rare events. */
export class SqliteNotices implements Notifications, DeliveryWatch {
  readonly #commits: GroupCommit
  readonly #insert: StatementSync
  readonly #pollStatement: StatementSync
  readonly #now: () => Instant

  constructor(database: DatabaseSync, commits: GroupCommit, now: () => Instant) {
    this.#commits = commits
    this.#now = now
    this.#pollStatement = database.prepare(POLL_DELIVERIES('?1'))
    this.#insert = database.prepare(
      `insert into notice (id, account_id, kind, at, key, data)
         select 'ntc_' || lower(hex(randomblob(16))), ?1, ?2, ?3, ?4, ?5
           where exists (select 1 from notice_want where account_id = ?1 and kind = ?2)
         on conflict (account_id, key) where key is not null do nothing`,
    )
  }

  async pollDeliveries(): ReturnType<DeliveryWatch['pollDeliveries']> {
    const row = this.#pollStatement.get(this.#now()) as { listened: number; due: number }
    return { isListened: row.listened === 1, isDue: row.due === 1 }
  }

  async announce(notices: readonly NewNotification[]): Promise<void> {
    if (notices.length === 0) return
    await this.#commits.submit(() => {
      for (const { accountId, kind, at, key, data } of notices)
        this.#insert.run(accountId, kind, at, key, noticeText(data))
    })
  }
}
