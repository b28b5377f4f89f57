import { WEBHOOK_DESCRIPTION } from '../../../contract/console/form-rules.ts'
import type { WebhookForm, webhookRoutes } from '../../../contract/console/webhooks.ts'
import type { AccountId, Instant } from '../../../core/ids.ts'
import { explainTry } from '../../../core/notifications/delivery-try-codes.ts'
import { drawWebhookId, drawWebhookSecret, webhookSecretPlace } from '../../../core/notifications/draw-webhook.ts'
import {
  isNotificationKind,
  NOTIFICATION_KINDS,
  type NotificationKindFacts,
} from '../../../core/notifications/notification-kinds.ts'
import { readWebhookKinds, readWebhookUrl } from '../../../core/notifications/read-webhook-form.ts'
import type { DeliveryRow, DeliveryView, OfWebhook, WebhookView } from '../../../core/ports/webhooks.ts'
import { readOneLine } from '../../../core/read-one-line.ts'
import { readParts } from '../../../core/refusals.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'

/** Long enough to give a receiver the new secret without a gap. */
const OVERLAP_MS = 24 * 3_600_000

type Deps = Pick<ConsoleDeps, 'store' | 'randomBytes' | 'secrets' | 'webhookRanges'>
type WebhookHandlers = Handlers<typeof webhookRoutes>

export function webhookHandlers(deps: Deps): WebhookHandlers {
  return { ...viewing(deps), ...changing(deps), ...ofSecrets(deps) }
}

function viewing({
  store: { webhooks },
}: Deps): Pick<
  WebhookHandlers,
  'listWebhooks' | 'describeNotices' | 'readWebhook' | 'listDeliveries' | 'readDelivery'
> {
  return {
    async listWebhooks(_, { accountId }) {
      return { items: (await webhooks.listWebhooks(accountId)).map(presentWebhook) }
    },
    async describeNotices() {
      const kinds = Object.entries<NotificationKindFacts>(NOTIFICATION_KINDS).map(([kind, { group, sentence }]) => ({
        kind,
        group,
        sentence,
        isWantable: kind !== 'webhook.test',
      }))
      return { kinds }
    },
    async readWebhook({ params: { id } }, { accountId }) {
      return presentWebhook(await webhooks.readWebhook({ accountId, id }))
    },
    async listDeliveries({ params: { id }, query: { state = null, kind = null, after = null } }, { accountId, now }) {
      // An unknown kind has no deliveries. It is ignored, because a link may contain anything.
      const filter = { state, kind: kind !== null && isNotificationKind(kind) ? kind : null, after }
      const { items, next } = await webhooks.listDeliveries({ accountId, id }, filter)
      const webhook = presentWebhook(await webhooks.readWebhook({ accountId, id }))
      return { items: items.map((row) => presentRow(row, now)), next, webhook }
    },
    async readDelivery({ params: { id, position } }, { accountId, now }) {
      return presentDelivery(await webhooks.readDelivery({ accountId, id }, position), now)
    },
  }
}

function changing({
  store: { webhooks },
  webhookRanges,
}: Deps): Pick<
  WebhookHandlers,
  'changeWebhook' | 'setWebhookState' | 'deleteWebhook' | 'testWebhook' | 'replayDelivery' | 'replayFailed'
> {
  return {
    async changeWebhook({ params: { id }, body }, { accountId, actor }) {
      return presentWebhook(await webhooks.changeWebhook({ accountId, id }, await readForm(body, webhookRanges), actor))
    },
    async setWebhookState({ params: { id }, body: { state } }, { accountId, actor }) {
      return presentWebhook(await webhooks.setWebhookState({ accountId, id }, state, actor))
    },
    async deleteWebhook({ params: { id } }, { accountId, actor }) {
      await webhooks.removeWebhook({ accountId, id }, actor)
      return { done: true }
    },
    async testWebhook({ params: { id } }, { accountId, actor }) {
      return { position: await webhooks.testWebhook({ accountId, id }, actor) }
    },
    async replayDelivery({ params: { id, position } }, { accountId, actor, now }) {
      return presentDelivery(await webhooks.replayDelivery({ accountId, id }, position, actor), now)
    },
    async replayFailed({ params: { id }, body: { since } }, { accountId, actor }) {
      return { replayed: await webhooks.replayFailed({ accountId, id }, since, actor) }
    },
  }
}

function ofSecrets({
  store: { webhooks },
  randomBytes,
  secrets,
  webhookRanges,
}: Deps): Pick<WebhookHandlers, 'createWebhook' | 'rotateWebhookSecret'> {
  const draw = ({ accountId, id }: { accountId: AccountId; id: string }) => {
    const secret = drawWebhookSecret(randomBytes)
    return { secret, sealed: secrets.seal(secret, webhookSecretPlace(accountId, id)) }
  }
  return {
    async createWebhook({ body }, { accountId, actor }) {
      const of: OfWebhook = { accountId, id: drawWebhookId(randomBytes) }
      const wanted = { ...of, ...(await readForm(body, webhookRanges)) }
      const { secret, sealed } = draw(of)
      return { secret, details: presentWebhook(await webhooks.addWebhook({ ...wanted, secret: sealed }, actor)) }
    },
    async rotateWebhookSecret({ params: { id }, body: { endsEarlier } }, { accountId, actor, now }) {
      const of: OfWebhook = { accountId, id }
      const { secret, sealed } = draw(of)
      const rotation = { secret: sealed, oldUntil: now + OVERLAP_MS, endsEarlier }
      return { secret, details: presentWebhook(await webhooks.rotateWebhookSecret(of, rotation, actor)) }
    },
  }
}

function readForm({ url, description, kinds }: WebhookForm, ranges: Deps['webhookRanges']) {
  return readParts({
    url: () => readWebhookUrl(url, ranges),
    description: () => readOneLine(description, WEBHOOK_DESCRIPTION, 'description'),
    kinds: () => readWebhookKinds(kinds),
  })
}

function presentWebhook({ accountId: _, ...view }: WebhookView) {
  const { lastFailure, kinds } = view
  return { ...view, kinds: [...kinds], lastFailure: lastFailure && explainTry(lastFailure) }
}

// A try takes at most 15 s, and begins within 2 s. One that waits behind others comes later.
const FIRST_TRY_MS = 20_000

/** Browsers do not decide what is new: their clocks may be wrong. */
function presentRow<Row extends DeliveryRow>(row: Row, now: Instant) {
  const { state, tries, createdAt } = row
  return { ...row, isBeingSent: state === 'waiting' && tries === 0 && now - createdAt < FIRST_TRY_MS }
}

function presentDelivery({ tryRows, ...row }: DeliveryView, now: Instant) {
  return {
    ...presentRow(row, now),
    tryRows: tryRows.map((one) => ({ ...one, ...explainTry(one) })),
  }
}
