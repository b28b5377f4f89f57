import type { DeliveryRowReply, WebhookReply } from '../../../src/contract/console/webhooks.ts'
import type { StateGroup } from '../../app/theme.ts'
import { localDateTime } from '../../components/instants.ts'

export const STATE_LABELS: Readonly<Record<WebhookReply['state'], string>> = {
  enabled: 'Enabled',
  disabled: 'Disabled',
  failing: 'Disabled by itself',
}

export const DELIVERY_LABELS: Readonly<Record<DeliveryRowReply['state'], string>> = {
  waiting: 'Waiting',
  delivered: 'Delivered',
  failed: 'Failed',
  dropped: 'Given up: too many waited',
}

/** A delivery that failed and waits for its next try is not called as one that was not tried yet. */
export function deliveryLabel({ state, tries }: Pick<DeliveryRowReply, 'state' | 'tries'>): string {
  return state === 'waiting' && tries > 0
    ? `Failed ${tries === 1 ? 'once' : `${tries} times`}, tried again`
    : DELIVERY_LABELS[state]
}

const DELIVERY_GROUPS = { waiting: 'moving', delivered: 'sent', failed: 'notsent', dropped: 'notsent' } as const

/** The colour of its badge: yellow while it fails. */
export function deliveryGroup({ state, tries }: Pick<DeliveryRowReply, 'state' | 'tries'>): StateGroup {
  return state === 'waiting' && tries > 0 ? 'attend' : DELIVERY_GROUPS[state]
}

/** The deliveries of the last day, in one line. */
export function lastDayLabel({ lastDay }: Pick<WebhookReply, 'lastDay'>): string {
  const { delivered, failed, dropped, waiting, isAtLeast } = lastDay
  const givenUp = failed + dropped
  if (delivered + givenUp + waiting === 0) return 'Nothing in 24 hours'
  const parts = [
    `${delivered.toLocaleString('en')} delivered`,
    waiting === 0 ? '' : `${waiting.toLocaleString('en')} not delivered yet`,
    givenUp === 0 ? '' : `${givenUp.toLocaleString('en')} given up`,
  ]
  return `${parts.filter(Boolean).join(', ')}${isAtLeast ? ' (of the newest 2,000)' : ''}`
}

/** Since when every try fails. It names the time that “Last delivered” shows. */
export function failingText({ lastDeliveredAt }: Pick<WebhookReply, 'lastDeliveredAt'>): string {
  return lastDeliveredAt === null
    ? 'Nothing was ever delivered.'
    : `The last delivery was on ${localDateTime(lastDeliveredAt)}. Every try since then failed.`
}

/** What is tried again, and until when; null: nothing is. */
export function retriesText({ retrying }: Pick<WebhookReply, 'retrying'>): string | null {
  if (retrying === null) return null
  const { count, isAtLeast, nextTryAt, givenUpAt } = retrying
  const isOne = count === 1
  const what = `${isAtLeast ? 'At least ' : ''}${count.toLocaleString('en')} ${isOne ? 'delivery is' : 'deliveries are'} tried again`
  // What is due waits for its turn: its time is not known.
  const next = nextTryAt === null ? '' : `, the next ${isOne ? 'time' : 'of them'} on ${localDateTime(nextTryAt)}`
  const end = `is given up about ${localDateTime(givenUpAt)}`
  // While every try fails, each waits for those before it.
  const last = isOne && !isAtLeast ? `it ${end}` : `the last of them ${end}, or later: they are tried one at a time`
  return `${what}${next}. If no try succeeds, ${last}.`
}

/** While a first try runs. */
export const SENDING_EVERY_MS = 500

/** The result of the last try, in a few words. */
export function lastTryLabel({
  lastStatus,
  lastCode,
  tries,
  isBeingSent,
}: Pick<DeliveryRowReply, 'lastStatus' | 'lastCode' | 'tries' | 'isBeingSent'>): string {
  if (tries === 0) return isBeingSent ? 'Sending…' : 'Not tried yet'
  return lastStatus === null ? (lastCode ?? '').replaceAll('_', ' ') : `HTTP ${lastStatus}`
}
