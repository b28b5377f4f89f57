import { sql, type Transaction } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { DisabledWebhook, TriedDelivery } from '../../../core/ports/deliveries.ts'
import type { Store } from '../store.ts'
import { writeAudit } from '../store.ts'
import type { Tables } from '../tables.generated.ts'
import { updateWebhook } from './webhook-rows.ts'
import { noteWants, writeNotices } from './write-notifications.ts'

const DAY_MS = 86_400_000
/** A webhook whose every try failed for so long is disabled. */
const DISABLED_AFTER_MS = 3 * DAY_MS

const WHY = {
  failing_for_days: [
    'Every try of the last 3 days failed.',
    'Repair the receiver, enable the webhook, then replay what failed.',
  ],
  gone: ['The receiver answered 410: it wants no more notices.', 'Enable the webhook again if that was not meant.'],
} as const satisfies Record<DisabledWebhook['code'], readonly [string, string]>

type Writing = Transaction<Tables>
type OfOne = Pick<TriedDelivery, 'accountId' | 'webhookId'>

/** See `Deliveries.record`. */
export function recordTries(store: Store, tried: readonly TriedDelivery[]): Promise<readonly DisabledWebhook[]> {
  return store.database.transaction().execute(async (tables) => {
    const at = store.now()
    const mayDisable = await isAnyToDisable(tables, tried, at)
    // Before the first write, as in every change: disabling rewrites the wanted kinds of an account, and of two rewrites at
    // once one would be lost.
    if (mayDisable) await store.engine.beginChange(tables)
    // The tries are of several webhooks, in any order. Two processes that record theirs could wait for each other.
    await store.engine.beginDelivering(tables)
    const suspects = new Map<string, OfOne & { readonly isGone: boolean }>()
    for (const one of tried) {
      if (!(await writeTry(tables, one))) continue
      const { accountId, webhookId, checked } = one
      const isDelivered = checked.next.do === 'done'
      const columns = isDelivered
        ? { failing_since: null, failed_tries: 0, last_delivered_at: one.at }
        : {
            failing_since: sql<Instant>`coalesce(failing_since, ${sql.lit(one.at)})`,
            failed_tries: sql<number>`failed_tries + 1`,
          }
      await updateWebhook(tables, { accountId, id: webhookId }, columns).execute()
      if (!isDelivered) {
        const isGone = checked.next.do === 'disable' || (suspects.get(webhookId)?.isGone ?? false)
        suspects.set(webhookId, { accountId, webhookId, isGone })
      }
    }
    const disabled: DisabledWebhook[] = []
    for (const suspect of mayDisable ? suspects.values() : []) {
      const code = await disableIfDue(tables, { suspect, at })
      if (code) disabled.push({ accountId: suspect.accountId, webhookId: suspect.webhookId, code })
    }
    return disabled
  })
}

/** Checked before anything is written. A webhook that is due for it a moment later is disabled at its next try. */
async function isAnyToDisable(tables: Writing, tried: readonly TriedDelivery[], at: Instant): Promise<boolean> {
  if (tried.some(({ checked }) => checked.next.do === 'disable')) return true
  const failed = tried.filter(({ checked }) => checked.next.do !== 'done')
  if (failed.length === 0) return false
  const failing = await tables
    .selectFrom('webhook')
    .select('id')
    .where(
      'account_id',
      'in',
      failed.map(({ accountId }) => accountId),
    )
    .where(
      'id',
      'in',
      failed.map(({ webhookId }) => webhookId),
    )
    .where('failing_since', '<=', at - DISABLED_AFTER_MS)
    .limit(1)
    .executeTakeFirst()
  return failing !== undefined
}

/** False when another process holds the claim by now: that process records the result. */
async function writeTry(tables: Writing, one: TriedDelivery): Promise<boolean> {
  const { checked, at, tookMs, number } = one
  const { next, status, code, words, excerpt } = checked
  const ended = next.do === 'done' ? 'delivered' : next.do === 'retry' ? null : 'failed'
  const place = { account_id: one.accountId, webhook_id: one.webhookId, notice_position: one.position }
  const { numUpdatedRows } = await tables
    .updateTable('delivery')
    .set({
      state: ended ?? 'waiting',
      tries: number,
      next_try_at: next.do === 'retry' ? next.at : null,
      claim: null,
      ended_at: ended && at,
      last_status: status,
      last_code: code,
    })
    .where('account_id', '=', place.account_id)
    .where('webhook_id', '=', place.webhook_id)
    .where('notice_position', '=', place.notice_position)
    .where('claim', '=', one.claim)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows !== 1n) return false
  await tables
    .insertInto('delivery_try')
    .values({ ...place, number, at, took_ms: tookMs, status, code, words: clean(words), excerpt: clean(excerpt) })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  return true
}

function clean(text: string | null): string | null {
  return text?.replaceAll('\0', '') ?? null
}

async function disableIfDue(
  tables: Writing,
  { suspect, at }: { readonly suspect: OfOne & { readonly isGone: boolean }; readonly at: Instant },
): Promise<DisabledWebhook['code'] | null> {
  const { accountId, webhookId, isGone } = suspect
  const hook = await tables
    .selectFrom('webhook')
    .select(['url', 'failing_since', 'state'])
    .where('account_id', '=', accountId)
    .where('id', '=', webhookId)
    .executeTakeFirst()
  if (hook?.state !== 'enabled') return null
  const isFailing = hook.failing_since !== null && hook.failing_since <= at - DISABLED_AFTER_MS
  if (!isGone && !isFailing) return null
  const code = isGone ? 'gone' : 'failing_for_days'
  const [why, nextStep] = WHY[code]
  await updateWebhook(tables, { accountId, id: webhookId }, { state: 'failing', state_reason: why }).execute()
  await noteWants({ tables }, accountId)
  const data = { webhookId, url: hook.url, code, why, nextStep }
  await writeNotices({ tables }, [
    { accountId, kind: 'webhook.disabled', at, key: `webhook.disabled:${webhookId}:${at}`, data },
  ])
  await writeAudit(
    { tables, at, actor: 'nuncio', person: null },
    { action: 'webhook.disable', object: webhookId, accountId, detail: { code } },
  )
  return code
}
