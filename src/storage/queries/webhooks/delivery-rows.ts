import type { Selectable } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import { messageOf } from '../../../core/notifications/compose-payload.ts'
import { isNotificationKind } from '../../../core/notifications/notification-kinds.ts'
import type { DeliveryRow, DeliveryView, OfWebhook, Webhooks } from '../../../core/ports/webhooks.ts'
import { Refusal } from '../../../core/refusals.ts'
import { yieldToWriters } from '../messages/cancel-waiting.ts'
import { change, type Reader, type Store, writeAudit } from '../store.ts'
import type { Tables } from '../tables.generated.ts'
import { findWebhook } from './webhook-rows.ts'

const PAGE = 50
// What one query scans at most, so that the search for a rare state in a long list does not delay others.
const MOST_SCANNED = 5_000
const REPLAYED_AT_ONCE = 500

export function createDeliveryRows(store: Store): Pick<Webhooks, 'listDeliveries' | 'readDelivery'> {
  const { database: tables } = store
  return {
    async listDeliveries(of, filter) {
      await findWebhook(tables, of)
      const before = readAfter(filter.after)
      const { state, kind } = filter
      const range = tables
        .selectFrom('delivery')
        .select('notice_position as position')
        .where('account_id', '=', of.accountId)
        .where('webhook_id', '=', of.id)
        .where('notice_position', '<', before)
        .orderBy('notice_position', 'desc')
        .offset(MOST_SCANNED)
        .limit(1)
      const [end] = state === null && kind === null ? [] : await range.execute()
      const rows = await selectDeliveries(tables, of)
        .where('d.notice_position', '<', before)
        .$if(end !== undefined, (query) => query.where('d.notice_position', '>', end?.position ?? 0))
        .$if(state !== null, (query) => query.where('d.state', '=', state ?? 'waiting'))
        .$if(kind !== null, (query) => query.where('d.kind', '=', kind ?? ''))
        .orderBy('d.notice_position', 'desc')
        .limit(PAGE + 1)
        .execute()
      const items = rows.slice(0, PAGE).map(toDeliveryRow)
      if (rows.length > PAGE) return { items, next: String(items.at(-1)?.position ?? 0) }
      return { items, next: end ? String(end.position + 1) : null }
    },
    readDelivery: (of, position) => readDelivery(tables, of, position),
  }
}

async function readDelivery(tables: Reader, of: OfWebhook, position: number): Promise<DeliveryView> {
  await findWebhook(tables, of)
  const row = await selectDeliveries(tables, of).where('d.notice_position', '=', position).executeTakeFirst()
  if (!row) throw new Refusal('webhook_delivery_unknown')
  const tries = await tables
    .selectFrom('delivery_try')
    .selectAll()
    .where('account_id', '=', of.accountId)
    .where('webhook_id', '=', of.id)
    .where('notice_position', '=', position)
    .orderBy('number', 'desc')
    .execute()
  return { ...toDeliveryRow(row), payload: row.payload, tryRows: tries.map(toTryRow) }
}

export function createReplays(store: Store): Pick<Webhooks, 'replayDelivery' | 'replayFailed'> {
  return {
    replayDelivery: (of, position, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        refuseDisabled(await findWebhook(tables, of))
        const before = await readDelivery(tables, of, position)
        await again(tables, of, at).where('notice_position', '=', position).execute()
        const detail = { delivery: before.notificationId }
        await writeAudit(making, { action: 'webhook.replay', object: of.id, accountId: of.accountId, detail })
        return readDelivery(tables, of, position)
      }),
    async replayFailed(of, since, actor) {
      let replayed = 0
      let after = 0
      for (;;) {
        const part = await change(store, actor, async (making) => {
          const { tables, at } = making
          if (after === 0) {
            refuseDisabled(await findWebhook(tables, of))
            const detail = { failedSince: since }
            await writeAudit(making, { action: 'webhook.replay', object: of.id, accountId: of.accountId, detail })
          }
          const rows = await tables
            .selectFrom('delivery')
            .select(['notice_position as position', 'state', 'created_at'])
            .where('account_id', '=', of.accountId)
            .where('webhook_id', '=', of.id)
            .where('notice_position', '>', after)
            .orderBy('notice_position')
            .limit(REPLAYED_AT_ONCE)
            .execute()
          const wanted = rows.filter(
            (row) => (row.state === 'failed' || row.state === 'dropped') && row.created_at >= since,
          )
          if (wanted.length > 0) {
            await store.engine.beginDelivering(tables)
            await again(tables, of, at)
              .where(
                'notice_position',
                'in',
                wanted.map(({ position }) => position),
              )
              .execute()
          }
          return {
            wanted: wanted.length,
            last: rows.length < REPLAYED_AT_ONCE ? null : (rows.at(-1)?.position ?? null),
          }
        })
        replayed += part.wanted
        if (part.last === null) return replayed
        after = part.last
        await yieldToWriters()
      }
    },
  }
}

/** With a new schedule. The number of tries continues, because each try keeps its row. */
function again(tables: Reader, { accountId, id }: OfWebhook, at: Instant) {
  return tables
    .updateTable('delivery')
    .set({ state: 'waiting', next_try_at: at, claim: null, ended_at: null, tries_before: (eb) => eb.ref('tries') })
    .where('account_id', '=', accountId)
    .where('webhook_id', '=', id)
}

function refuseDisabled({ state }: Selectable<Tables['webhook']>): void {
  if (state !== 'enabled') throw new Refusal('webhook_disabled')
}

function readAfter(after: string | null): number {
  if (after === null) return Number.MAX_SAFE_INTEGER
  if (!/^\d{1,16}$/.test(after)) throw new Refusal('argument_invalid', 'This is no place in the list. Read it again.')
  return Number(after)
}

function selectDeliveries(tables: Reader, { accountId, id }: OfWebhook) {
  return tables
    .selectFrom('delivery as d')
    .innerJoin('notice as n', 'n.position', 'd.notice_position')
    .where('d.account_id', '=', accountId)
    .where('d.webhook_id', '=', id)
    .select([
      'd.notice_position as position',
      'n.id as notificationId',
      'd.kind',
      'd.state',
      'd.tries',
      'd.created_at as createdAt',
      'd.next_try_at as nextTryAt',
      'd.ended_at as endedAt',
      'd.last_status as lastStatus',
      'd.last_code as lastCode',
      'd.payload',
    ])
}

type Row = Awaited<ReturnType<ReturnType<typeof selectDeliveries>['execute']>>[number]

function toDeliveryRow({ payload, ...row }: Row): DeliveryRow {
  const kind = isNotificationKind(row.kind) ? row.kind : 'webhook.test'
  return { ...row, kind, message: messageOf(payload), nextTryAt: row.state === 'waiting' ? row.nextTryAt : null }
}

function toTryRow(row: Selectable<Tables['delivery_try']>): DeliveryView['tryRows'][number] {
  const { number, at, status, code, words, excerpt } = row
  return { number, at, tookMs: row.took_ms, status, code, words, excerpt }
}
