import { counted } from '../format/counted.ts'
import { commandLine } from './command-line.ts'
import type { AccountId, Instant } from './ids.ts'
import { explainTry } from './notifications/delivery-try-codes.ts'
import type { AlarmScope, Alarms, AlarmView } from './ports/console/alarms.ts'
import type { AttentionGroup, AttentionSeen, AttentionView, Overview, WaitingLane } from './ports/console/overview.ts'
import type { Webhooks, WebhookView } from './ports/webhooks.ts'
import { explainReason, withCommand } from './reasons.ts'
import { renderRemedy } from './render-remedy.ts'
import { explainWait } from './sentences/explain-wait.ts'

/** One thing that waits for a person. One of `alarm`, `messages`, `lane` and `webhook` is set: what it is about. */
export interface AttentionItem {
  /** Stays the same as long as it is about the same thing. */
  readonly key: string
  /** What it is and how many, in one sentence. */
  readonly title: string
  /** The next step, with the buttons and fields of the console. */
  readonly nextStep: string
  /** The next step, with commands. */
  readonly nextStepByCommand: string
  /** The account that it belongs to. Null for an alarm, which names its account itself. */
  readonly accountId: AccountId | null
  readonly alarm: AlarmView | null
  /** Messages that were not sent, for the same reason, since `from`. */
  readonly messages: (AttentionGroup & { readonly from: Instant }) | null
  /** A number that waits for a person, if no alarm says so already. */
  readonly lane: WaitingLane | null
  /** A webhook that fails, or that Nuncio has disabled. */
  readonly webhook: WebhookView | null
  /** When it came, or the newest of its messages. */
  readonly latestAt: Instant
  /** False: it stays until it is dealt with. */
  readonly maySee: boolean
  /** The person who has seen it since then; null: not seen. */
  readonly seen: AttentionSeen | null
}

export interface AttentionSources {
  readonly alarms: Pick<Alarms, 'readOpen'>
  readonly overview: Pick<Overview, 'readAttention'>
  readonly webhooks: Pick<Webhooks, 'listWebhooks'>
}

interface Wanted {
  /** Those whose messages, numbers and webhooks are read. */
  readonly accountIds: readonly AccountId[]
  readonly alarmsOf: AlarmScope
  readonly now: Instant
}

/** A receiver that restarts is away for less than this. */
const WEBHOOK_FAILS_MS = 15 * 60_000

/**
 * What needs attention, the most urgent first and what a person has seen last. The console and the command line show the same
 * list.
 */
export async function findAttention(
  { alarms, overview, webhooks }: AttentionSources,
  { accountIds, alarmsOf, now }: Wanted,
): Promise<readonly AttentionItem[]> {
  const open = (await alarms.readOpen(alarmsOf)).filter(({ severity }) => severity !== 'info')
  let ofAlarms = open.map(ofAlarm)
  const items: AttentionItem[] = []
  // One after the other: all at once would wait too long for a connection of the database.
  for (const accountId of accountIds) {
    const view = await overview.readAttention(accountId)
    const failing = (await webhooks.listWebhooks(accountId)).filter((webhook) => isToRepair(webhook, now))
    const own = [...ofAccount(open, view, now), ...failing.map(ofWebhook)]
    // Two accounts may have messages with the same reason, and each marks its own as seen.
    items.push(...own.map((item) => markSeen({ ...item, accountId }, view)))
    ofAlarms = ofAlarms.map((item) => markSeen(item, view))
  }
  const all = [...ofAlarms, ...items]
  return [...all.filter(({ seen }) => seen === null), ...all.filter(({ seen }) => seen !== null)]
}

function ofAccount(
  open: readonly AlarmView[],
  { groups, lanes, from }: AttentionView,
  now: Instant,
): readonly AttentionItem[] {
  const alarmed = new Set(open.map(({ object }) => object))
  return [
    ...lanes.filter(({ connectionId }) => !alarmed.has(connectionId)).map((lane) => ofLane(lane, now)),
    ...groups.map((group) => ofMessages(group, from)),
  ]
}

function markSeen(item: AttentionItem, { seen }: AttentionView): AttentionItem {
  const noted = item.maySee ? seen.get(item.key) : undefined
  return noted && noted.until >= item.latestAt ? { ...item, seen: noted } : item
}

const NOTHING = { accountId: null, alarm: null, messages: null, lane: null, webhook: null, seen: null }

function ofAlarm(alarm: AlarmView): AttentionItem {
  const { kind, object, raisedAt: latestAt, severity, cause: title, nextStep } = alarm
  return {
    ...NOTHING,
    ...{ key: `alarm ${kind} ${object}`, title, nextStep, nextStepByCommand: withCommand(alarm), alarm, latestAt },
    // Critical alarms and decisions of a person must not be hidden.
    maySee: severity !== 'critical' && kind !== 'unconfirmed',
  }
}

function ofMessages(group: AttentionGroup, from: Instant): AttentionItem {
  const { state, reason, count, latestAt } = group
  const { list, nextStep } =
    reason === null ? { list: 'no reason is known', nextStep: '' } : explainReason(reason, { state })
  // Some of them may have been sent, and failed later.
  const became = state === 'EXPIRED' ? 'expired' : 'failed'
  const command = commandLine`message list`
  return {
    ...NOTHING,
    key: `messages ${state} ${reason ?? ''}`,
    title: `${count === 1 ? '1 message' : `${count.toLocaleString('en')} messages`} ${became}: ${list}`,
    nextStep,
    nextStepByCommand: withCommand({ nextStep, command: `${command} --state ${state}` }).trim(),
    messages: { ...group, from },
    latestAt,
    maySee: true,
  }
}

function ofLane(lane: WaitingLane, now: Instant): AttentionItem {
  const { number, connectionId, reason, words, until, waiting, isMore, oldestAt } = lane
  const explained = explainWait(lane, { reason: reason ?? '', words, until }, now)
  const many = counted(waiting, 'message waits', 'messages wait')
  return {
    ...NOTHING,
    key: `number ${connectionId} ${reason ?? ''}`,
    title: `${number}: ${explained.cause} ${isMore ? 'Over ' : ''}${many}.`,
    nextStep: renderRemedy(explained.nextStep, { number }),
    nextStepByCommand: renderRemedy(withCommand(explained), { number }),
    lane,
    latestAt: oldestAt ?? 0,
    maySee: false,
  }
}

function isToRepair({ state, isFailing, failingSince }: WebhookView, now: Instant): boolean {
  if (state !== 'enabled') return state === 'failing'
  return isFailing && failingSince !== null && failingSince <= now - WEBHOOK_FAILS_MS
}

function ofWebhook(webhook: WebhookView): AttentionItem {
  const { id, url, state, stateReason, failingSince, createdAt, lastFailure } = webhook
  const key = `webhook ${id}`
  const latestAt = failingSince ?? createdAt
  if (state === 'enabled') {
    const { sentence, nextStep } = lastFailure ? explainTry(lastFailure) : { sentence: '', nextStep: '' }
    const title = `Every try of the webhook to ${url} fails. ${sentence}`.trim()
    return { ...NOTHING, key, title, nextStep, nextStepByCommand: nextStep, webhook, latestAt, maySee: true }
  }
  const nextStep = 'Repair the receiver, then enable the webhook.'
  return {
    ...NOTHING,
    key,
    title: `The webhook to ${url} was disabled. ${stateReason ?? ''}`.trim(),
    nextStep,
    nextStepByCommand: `${nextStep} The console does that.`,
    webhook,
    latestAt,
    maySee: false,
  }
}
