import type { DeliveryRowReply, WebhookReply } from '../../../src/contract/console/webhooks.ts'

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

/** The deliveries of the last day, in one line. */
export function lastDayLabel({ lastDay }: WebhookReply): string {
  const { delivered, failed, dropped, waiting, isAtLeast } = lastDay
  const ended = delivered + failed + dropped
  if (ended + waiting === 0) return 'Nothing in 24 hours'
  const rate = ended === 0 ? '' : `${Math.floor((delivered / ended) * 100)} % delivered`
  const left = waiting === 0 ? '' : `${waiting} waiting`
  return `${[rate, left].filter(Boolean).join(', ')}${isAtLeast ? ' (of the newest 2,000)' : ''}`
}

/** The result of the last try, in a few words. */
export function lastTryLabel({ lastStatus, lastCode, tries }: DeliveryRowReply): string {
  if (tries === 0) return 'Not tried yet'
  return lastStatus === null ? (lastCode ?? '').replaceAll('_', ' ') : `HTTP ${lastStatus}`
}
