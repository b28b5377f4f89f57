import { checkMediaUrl, type OperatorRanges, type RefusedUrl } from '../media-address/check-url.ts'
import { Refusal } from '../refusals.ts'
import { isNotificationKind, type NotificationKind } from './notification-kinds.ts'

const CLOSED = 'It lies in a range of NUNCIO_OUTBOUND_DENIED_CIDRS: only the operator can take it out of there.'

/** The address in its canonical form. Refuses what could never be posted to, by the rules for media URLs. */
export function readWebhookUrl(text: string, ranges: OperatorRanges): string {
  const checked = checkMediaUrl(text, ranges)
  if (!checked.ok) {
    const hint = hintFor(checked)
    throw new Refusal('argument_invalid', hint === null ? checked.detail : `${checked.detail} ${hint}`, 'url')
  }
  return checked.url
}

/** What would help; null where the sentence itself says it. */
function hintFor({ isClosed, network }: RefusedUrl): string | null {
  if (isClosed) return CLOSED
  if (network === null) return null
  return `While you develop, the operator can set NUNCIO_WEBHOOK_ALLOWED_PRIVATE=${network} in the environment or in .env, then restart the service. Commands need it too.`
}

/** In the order of the table, each once. */
export function readWebhookKinds(names: readonly string[]): readonly NotificationKind[] {
  const kinds = [...new Set(names)].map((name) => {
    if (!isNotificationKind(name)) throw new Refusal('argument_invalid', `There is no notice “${name}”.`, 'kinds')
    if (name === 'webhook.test')
      throw new Refusal('argument_invalid', 'A test is sent only on request, and to any webhook.', 'kinds')
    return name
  })
  if (kinds.length === 0) throw new Refusal('argument_invalid', 'Choose at least one notice.', 'kinds')
  return kinds
}
