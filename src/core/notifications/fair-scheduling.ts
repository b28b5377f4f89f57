import type { AccountId, Instant } from '../ids.ts'

/** How many tries of one webhook run at once. */
const MOST_PER_WEBHOOK = 4
/** How many tries of one account run at once. */
const MOST_PER_ACCOUNT = 8

/** A webhook that something is due for. */
export interface DueWebhook {
  readonly accountId: AccountId
  readonly webhookId: string
  readonly isFailing: boolean
  /** When one of its deliveries was last started. */
  readonly servedAt: Instant
  /** How many tries of it run now. */
  readonly running: number
  /** How many tries of all webhooks of its account run now, due or not. */
  readonly runningOfAccount: number
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
 * Distributes places for tries. Each goes to the account with the fewest running tries; among several, to the one that has
 * waited longest. Otherwise a slow account would get back every place that it leaves, and those that others leave (G8). A
 * failing webhook gets one try at a time, and all failing ones share a limit of their own: their tries often last until the
 * time-out, and must not delay the others.
 */
export function shareOut(due: readonly DueWebhook[], { room, roomForFailing }: Room): readonly Share[] {
  const waiting = due.toSorted((a, b) => a.servedAt - b.servedAt)
  const accounts = [...Map.groupBy(waiting, ({ accountId }) => accountId).values()].map((webhooks) => ({
    webhooks,
    running: webhooks[0]?.runningOfAccount ?? 0,
  }))
  const given = new Map<DueWebhook, number>()
  const has = (webhook: DueWebhook) => webhook.running + (given.get(webhook) ?? 0)
  let leftForFailing = roomForFailing
  const nextOf = (webhooks: readonly DueWebhook[]): DueWebhook | undefined =>
    webhooks
      .filter((webhook) =>
        webhook.isFailing ? has(webhook) < 1 && leftForFailing > 0 : has(webhook) < MOST_PER_WEBHOOK,
      )
      .toSorted((a, b) => has(a) - has(b))[0]
  const next = (): DueWebhook | undefined => {
    const inTurn = accounts.filter(({ running }) => running < MOST_PER_ACCOUNT).sort((a, b) => a.running - b.running)
    for (const account of inTurn) {
      const webhook = nextOf(account.webhooks)
      if (!webhook) continue
      account.running += 1
      return webhook
    }
    return undefined
  }
  for (let left = room; left > 0; left -= 1) {
    const webhook = next()
    if (!webhook) break
    given.set(webhook, (given.get(webhook) ?? 0) + 1)
    if (webhook.isFailing) leftForFailing -= 1
  }
  return [...given].map(([webhook, most]) => ({ webhook, most }))
}
