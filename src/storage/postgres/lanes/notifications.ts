import type { DeliveryWatch } from '../../../core/ports/deliveries.ts'
import type { NewNotice, Notices } from '../../../core/ports/notifications.ts'
import { LOOK_FOR_DELIVERIES } from '../../queries/webhooks/poll-deliveries.ts'
import { noticeText } from '../../queries/webhooks/notification-text.ts'
import { insist } from '../connection/retry-on-lock-timeout.ts'
import type { Ask } from '../connection/pg-connection.ts'

export class PostgresNotices implements Notices, DeliveryWatch {
  readonly #ask: Ask

  constructor(ask: Ask) {
    this.#ask = ask
  }

  async lookForDeliveries(): ReturnType<DeliveryWatch['lookForDeliveries']> {
    const [row] = await this.#ask(LOOK_FOR_DELIVERIES('now_ms()'))
    return { isListened: row?.['listened'] === 1, isDue: row?.['due'] === 1 }
  }

  async announce(notices: readonly NewNotice[]): Promise<void> {
    if (notices.length === 0) return
    const rows = notices.map(({ accountId, kind, at, key, data }) => ({
      account_id: accountId,
      kind,
      at,
      key: key.replaceAll('\0', ''),
      data: noticeText(data),
    }))
    await insist(() => this.#ask('select announce_notices($1)', [JSON.stringify(rows)]))
  }
}
