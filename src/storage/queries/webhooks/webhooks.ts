import type { Webhooks } from '../../../core/ports/webhooks.ts'
import type { Store } from '../store.ts'
import {
  addWebhook,
  changeWebhook,
  removeWebhook,
  rotateWebhookSecret,
  setWebhookState,
  testWebhook,
} from './change-webhook.ts'
import { listDeliveries, readDelivery, replayDelivery, replayFailed } from './delivery-rows.ts'
import { findWebhook, listWebhookRows, toWebhookView } from './webhook-rows.ts'

export function createWebhooks(store: Store): Webhooks {
  const { database: tables, now } = store
  return {
    async listWebhooks(accountId) {
      const rows = await listWebhookRows(tables, accountId)
      return Promise.all(rows.map((row) => toWebhookView(tables, row, now())))
    },
    readWebhook: async (of) => toWebhookView(tables, await findWebhook(tables, of), now()),
    addWebhook: (wanted, actor) => addWebhook(store, wanted, actor),
    changeWebhook: (of, changed, actor) => changeWebhook(store, { of, changed }, actor),
    setWebhookState: (of, state, actor) => setWebhookState(store, { of, state }, actor),
    rotateWebhookSecret: (of, rotation, actor) => rotateWebhookSecret(store, { of, rotation }, actor),
    removeWebhook: (of, actor) => removeWebhook(store, of, actor),
    testWebhook: (of, actor) => testWebhook(store, of, actor),
    listDeliveries: (of, filter) => listDeliveries(store, of, filter),
    readDelivery: (of, position) => readDelivery(tables, of, position),
    replayDelivery: (of, position, actor) => replayDelivery(store, { of, position }, actor),
    replayFailed: (of, since, actor) => replayFailed(store, { of, since }, actor),
  }
}
