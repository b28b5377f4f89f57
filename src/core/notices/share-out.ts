import type { AccountId, Instant } from '../ids.ts'

/** How many tries of one webhook run at once. */
export const MOST_PER_WEBHOOK = 4
/** How many of one account. */
export const MOST_PER_ACCOUNT = 8

/** A webhook that something is due for. */
export interface DueWebhook {
  readonly accountId: AccountId
  readonly webhookId: string
  readonly isFailing: boolean
  /** When something of it was last taken up. */
  readonly servedAt: Instant
  /** How many tries of it run now. */
  readonly running: number
}

export interface Room {
  /** How many tries may begin now. */
  readonly room: number
  /** How many of those may be of webhooks that fail. */
  readonly roomForFailing: number
}

export interface Share {
  readonly webhook: DueWebhook
  readonly most: number
}

/**
 * Who may try how much. In turns: each account gets one before any gets a second, those that waited longest first (G8). A
 * webhook that fails gets one try at a time, and all that fail together have a room of their own: their tries may take the
 * whole time that a try has, and must not keep the others waiting.
 */
export function shareOut(due: readonly DueWebhook[], { room, roomForFailing }: Room): readonly Share[] {
  const waiting = due.toSorted((a, b) => a.servedAt - b.servedAt)
  const accounts = [...Map.groupBy(waiting, ({ accountId }) => accountId).values()]
  const given = new Map<DueWebhook, number>()
  const has = (webhook: DueWebhook) => webhook.running + (given.get(webhook) ?? 0)
  let [left, leftForFailing] = [room, roomForFailing]
  const next = (webhooks: readonly DueWebhook[]): DueWebhook | undefined => {
    if (webhooks.reduce((sum, webhook) => sum + has(webhook), 0) >= MOST_PER_ACCOUNT) return undefined
    return webhooks
      .filter((webhook) =>
        webhook.isFailing ? has(webhook) < 1 && leftForFailing > 0 : has(webhook) < MOST_PER_WEBHOOK,
      )
      .toSorted((a, b) => has(a) - has(b))[0]
  }
  for (let isAnyServed = true; isAnyServed && left > 0; ) {
    isAnyServed = false
    for (const webhooks of accounts) {
      const webhook = left > 0 ? next(webhooks) : undefined
      if (!webhook) continue
      given.set(webhook, (given.get(webhook) ?? 0) + 1)
      left -= 1
      if (webhook.isFailing) leftForFailing -= 1
      isAnyServed = true
    }
  }
  return [...given].map(([webhook, most]) => ({ webhook, most }))
}
