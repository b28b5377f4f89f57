import type { Webhooks } from '../../../core/ports/webhooks.ts'
import type { Store } from '../store.ts'
import { createWebhookActions, createWebhookChanges } from './change-webhook.ts'
import { createDeliveryRows, createReplays } from './delivery-rows.ts'
import { findWebhook, listWebhookRows, toWebhookView } from './webhook-rows.ts'

export function createWebhooks(store: Store): Webhooks {
  const { database: tables, now } = store
  return {
    async listWebhooks(accountId) {
      const rows = await listWebhookRows(tables, accountId)
      return Promise.all(rows.map((row) => toWebhookView(tables, row, now())))
    },
    readWebhook: async (of) => toWebhookView(tables, await findWebhook(tables, of), now()),
    ...createWebhookChanges(store),
    ...createWebhookActions(store),
    ...createDeliveryRows(store),
    ...createReplays(store),
  }
}
