import { composePayload } from '../../../core/notifications/compose-payload.ts'
import type { NotificationKind } from '../../../core/notifications/notification-kinds.ts'
import type { OfWebhook, Webhooks, WebhookView } from '../../../core/ports/webhooks.ts'
import { Refusal } from '../../../core/refusals.ts'
import { type Change, change, type Store, writeAudit } from '../store.ts'
import { findWebhook, listWebhookRows, toWebhookView, updateWebhook } from './webhook-rows.ts'
import { newNoticeId, noteWants } from './write-notifications.ts'

// Each notification is written once for each webhook.
const MOST_WEBHOOKS = 20

export function createWebhookChanges(store: Store): Pick<Webhooks, 'addWebhook' | 'changeWebhook' | 'setWebhookState'> {
  return {
    addWebhook: (wanted, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const { accountId, id, url, description, kinds, secret } = wanted
        const known = await tables.selectFrom('account').select('id').where('id', '=', accountId).executeTakeFirst()
        if (!known) throw new Refusal('account_unknown')
        if ((await listWebhookRows(tables, accountId)).length >= MOST_WEBHOOKS) throw new Refusal('webhooks_too_many')
        await tables
          .insertInto('webhook')
          .values({
            id,
            account_id: accountId,
            url,
            description,
            kinds: JSON.stringify(kinds),
            state: 'enabled',
            secret,
            created_at: at,
            created_by: making.actor,
          })
          .execute()
        return finish(making, wanted, { action: 'webhook.add', detail: { url, kinds } })
      }),
    changeWebhook: (of, changed, actor) =>
      change(store, actor, async (making) => {
        await findWebhook(making.tables, of)
        const { url, description, kinds } = changed
        const columns = {
          ...(url !== undefined && { url }),
          ...(description !== undefined && { description }),
          ...(kinds && { kinds: JSON.stringify(kinds) }),
        }
        if (Object.keys(columns).length > 0) await updateWebhook(making.tables, of, columns).execute()
        return finish(making, of, { action: 'webhook.change', detail: { ...changed } })
      }),
    setWebhookState: (of, state, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const before = await findWebhook(tables, of)
        if (before.state === state) return toWebhookView(tables, before, at)
        // Earlier failures no longer count: the receiver was fixed, or the webhook is disabled on purpose.
        const columns = { state, state_reason: null, failing_since: null, failed_tries: 0 }
        await updateWebhook(tables, of, columns).execute()
        return finish(making, of, { action: state === 'enabled' ? 'webhook.enable' : 'webhook.disable' })
      }),
  }
}

export function createWebhookActions(
  store: Store,
): Pick<Webhooks, 'rotateWebhookSecret' | 'removeWebhook' | 'testWebhook'> {
  return {
    rotateWebhookSecret: (of, { secret, oldUntil, endsEarlier }, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const before = await findWebhook(tables, of)
        const isOlderInUse = before.old_secret !== null && (before.old_secret_until ?? 0) > at
        if (isOlderInUse && !endsEarlier) throw new Refusal('webhook_secrets_overlap')
        const columns = { secret, old_secret: before.secret, old_secret_until: oldUntil }
        const { numUpdatedRows } = await updateWebhook(tables, of, columns)
          // Otherwise a secret that was just shown to a person would never sign.
          .where('secret', '=', before.secret)
          .executeTakeFirstOrThrow()
        if (numUpdatedRows === 0n) throw new Refusal('webhook_secrets_overlap')
        return finish(making, of, { action: 'webhook.rotate', detail: { oldUntil } })
      }),
    /** Its deliveries may be many: they are swept in small parts. */
    removeWebhook: (of, actor) =>
      change(store, actor, async (making) => {
        const { url } = await findWebhook(making.tables, of)
        const columns = { state: 'removed', secret: '', old_secret: null, old_secret_until: null } as const
        await updateWebhook(making.tables, of, columns).execute()
        await noteWants(making, of.accountId)
        await writeAudit(making, { action: 'webhook.remove', object: of.id, accountId: of.accountId, detail: { url } })
      }),
    testWebhook: (of, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const { url, state } = await findWebhook(tables, of)
        if (state !== 'enabled') throw new Refusal('webhook_disabled')
        const kind: NotificationKind = 'webhook.test'
        const data = { webhookId: of.id, url, by: making.actor }
        const { position } = await tables
          .insertInto('notice')
          .values({
            id: newNoticeId(),
            account_id: of.accountId,
            kind,
            at,
            data: JSON.stringify(data),
            is_new: 0,
          })
          .returning('position')
          .executeTakeFirstOrThrow()
        const place = { account_id: of.accountId, webhook_id: of.id, notice_position: position }
        const payload = composePayload({ kind, at, data }, null)
        await tables
          .insertInto('delivery')
          .values({ ...place, kind, payload, created_at: at, state: 'waiting', next_try_at: at })
          .execute()
        await writeAudit(making, { action: 'webhook.test', object: of.id, accountId: of.accountId })
        return position
      }),
  }
}

async function finish(
  making: Change,
  { accountId, id }: OfWebhook,
  did: { readonly action: string; readonly detail?: Readonly<Record<string, unknown>> },
): Promise<WebhookView> {
  await noteWants(making, accountId)
  await writeAudit(making, { ...did, object: id, accountId })
  return toWebhookView(making.tables, await findWebhook(making.tables, { accountId, id }), making.at)
}
