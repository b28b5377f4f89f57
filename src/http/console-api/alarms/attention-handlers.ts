import type { AttentionItem, attentionRoutes } from '../../../contract/console/attention.ts'
import type { AlarmView } from '../../../core/ports/console/alarms.ts'
import type { AttentionView } from '../../../core/ports/console/overview.ts'
import { explainReason } from '../../../core/reasons.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { Handlers } from '../request-context.ts'
import { ownerOf, toReply } from './alarm-handlers.ts'

export function attentionHandlers({
  store: { alarms, overview },
}: Pick<ConsoleDeps, 'store'>): Handlers<typeof attentionRoutes> {
  return {
    async readAttention(_, context) {
      const open = await alarms.readOpen(ownerOf(context))
      return { items: attentionItems(open, await overview.readAttention(context.accountId)) }
    },
    async noteAttentionSeen({ body }, { accountId, actor }) {
      await overview.noteAttentionSeen(accountId, body, actor)
      return { done: true as const }
    },
  }
}

type Unmarked = Omit<AttentionItem, 'seen'>

/** Alarms, the most severe first, then messages, and at the end what was seen. Pure. */
export function attentionItems(open: readonly AlarmView[], { from, groups, seen }: AttentionView): AttentionItem[] {
  const items = [
    ...open.filter(({ severity }) => severity !== 'info').map(alarmItem),
    ...groups.map(({ state, reason, count, latestAt }): Unmarked => {
      const text = reason === null ? null : explainReason(reason, { state })
      const { list: meaning = null, nextStep: whatToDo = null } = text ?? {}
      return {
        key: `messages ${state} ${reason ?? ''}`,
        alarm: null,
        messages: { state, reason, meaning, whatToDo, count, since: from },
        latestAt,
        maySee: true,
      }
    }),
  ].map((item): AttentionItem => {
    const noted = item.maySee ? seen.get(item.key) : undefined
    return { ...item, seen: noted && noted.until >= item.latestAt ? { by: noted.by, at: noted.at } : null }
  })
  return [...items.filter((item) => item.seen === null), ...items.filter((item) => item.seen !== null)]
}

function alarmItem(alarm: AlarmView): Unmarked {
  const { kind, object, raisedAt, severity } = alarm
  // What is critical and what a person must decide must not be hidden.
  const maySee = severity !== 'critical' && kind !== 'unconfirmed'
  return { key: `alarm ${kind} ${object}`, alarm: toReply(alarm), messages: null, latestAt: raisedAt, maySee }
}
