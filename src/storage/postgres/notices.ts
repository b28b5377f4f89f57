import type { DeliveryWatch } from '../../core/ports/deliveries.ts'
import type { NewNotice, Notices } from '../../core/ports/notices.ts'
import { LOOK_FOR_DELIVERIES } from '../shared/deliveries/look-for-deliveries.ts'
import { noticeText } from '../shared/webhooks/notice-text.ts'
import { insist } from './insist.ts'
import type { Ask } from './link.ts'

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
