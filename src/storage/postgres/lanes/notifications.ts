import type { DeliveryWatch } from '../../../core/ports/deliveries.ts'
import type { NewNotification, Notifications } from '../../../core/ports/notifications.ts'
import { noticeText, POLL_DELIVERIES } from '../../queries/webhooks/write-notifications.ts'
import { retryOnLockTimeout } from '../connection/batcher.ts'
import type { Query } from '../connection/pg-connection.ts'

export class PostgresNotices implements Notifications, DeliveryWatch {
  readonly #query: Query

  constructor(query: Query) {
    this.#query = query
  }

  async pollDeliveries(): ReturnType<DeliveryWatch['pollDeliveries']> {
    const [row] = await this.#query(POLL_DELIVERIES('now_ms()'))
    return { isListened: row?.['listened'] === 1, isDue: row?.['due'] === 1 }
  }

  async announce(notices: readonly NewNotification[]): Promise<void> {
    if (notices.length === 0) return
    const rows = notices.map(({ accountId, kind, at, key, data }) => ({
      account_id: accountId,
      kind,
      at,
      key: key.replaceAll('\0', ''),
      data: noticeText(data),
    }))
    await retryOnLockTimeout(() => this.#query('select announce_notices($1)', [JSON.stringify(rows)]))
  }
}
