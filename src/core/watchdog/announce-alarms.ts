import type { AccountId, Instant } from '../ids.ts'
import type { NewNotification, Notifications } from '../ports/notifications.ts'
import type { UnannouncedAlarm, Watch } from '../ports/watch.ts'
import { withCommand } from '../reasons.ts'
import type { AlarmKind } from './alarm-kinds.ts'
import { alarmText } from './alarm-text.ts'

/** The notifications of tokens report it, also of those that are not in use. */
const ANNOUNCED_APART = 'token_expiring' satisfies AlarmKind

interface AnnouncingParts {
  readonly watch: Pick<Watch, 'readUnannouncedAlarms' | 'readOnlyAccount' | 'markAnnounced'>
  readonly notifications: Notifications
}

/**
 * Announces alarms that were raised, got worse or were cleared. After a crash it announces them again, under the same key.
 */
export async function announceAlarms({ watch, notifications }: AnnouncingParts, now: Instant): Promise<void> {
  const unannounced = await watch.readUnannouncedAlarms()
  if (unannounced.length === 0) return
  const whole = unannounced.some(({ accountId }) => accountId === null) ? await watch.readOnlyAccount() : null
  const news = unannounced.flatMap((alarm) => {
    // An alarm about the machine is announced only where the installation has a single account (G8).
    const accountId = alarm.accountId ?? whole
    return accountId === null || alarm.kind === ANNOUNCED_APART ? [] : [notificationOf(alarm, accountId, now)]
  })
  if (news.length > 0) await notifications.announce(news)
  await watch.markAnnounced(unannounced)
}

function notificationOf(alarm: UnannouncedAlarm, accountId: AccountId, now: Instant): NewNotification {
  const { id, kind, severity, clearedAt, changedAt, facts } = alarm
  const text = alarmText(alarm, now)
  const said = { cause: text.cause, nextStep: withCommand(text) }
  const data = { alarm: kind, severity, object: nameOf(alarm), since: iso(alarm.since), ...said }
  return clearedAt === null
    ? { accountId, kind: 'alarm.raised', at: changedAt, key: `alarm:${id}:${severity}:${facts['stage'] ?? ''}`, data }
    : {
        accountId,
        kind: 'alarm.cleared',
        at: clearedAt,
        key: `alarm:${id}:cleared`,
        data: { ...data, clearedAt: iso(clearedAt) },
      }
}

/** What people call it. */
function nameOf({ facts, object }: UnannouncedAlarm): string {
  return String(facts['number'] ?? facts['name'] ?? facts['folder'] ?? object)
}

function iso(at: Instant): string {
  return new Date(at).toISOString()
}
