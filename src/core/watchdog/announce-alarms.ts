import type { AccountId, Instant } from '../ids.ts'
import type { NewNotice, Notices } from '../ports/notifications.ts'
import type { UntoldAlarm, Watch } from '../ports/watch.ts'
import type { AlarmKind } from './alarm-kinds.ts'
import { alarmText } from './alarm-text.ts'

/** There are notices of tokens for that, which come at the same moments. */
const ANNOUNCED_APART = 'token_expiring' satisfies AlarmKind

interface AnnouncingParts {
  readonly watch: Pick<Watch, 'readUntoldAlarms' | 'readOnlyAccount' | 'noteTold'>
  readonly notices: Notices
}

/**
 * Announces what was raised, got worse or was cleared. Whoever dies in between announces it again after a restart, under
 * the same key.
 */
export async function announceAlarms({ watch, notices }: AnnouncingParts, now: Instant): Promise<void> {
  const untold = await watch.readUntoldAlarms()
  if (untold.length === 0) return
  const whole = untold.some(({ accountId }) => accountId === null) ? await watch.readOnlyAccount() : null
  const news = untold.flatMap((alarm) => {
    // What concerns the machine is nobody's business who only has an account on it among others (G8).
    const accountId = alarm.accountId ?? whole
    return accountId === null || alarm.kind === ANNOUNCED_APART ? [] : [noticeOf(alarm, accountId, now)]
  })
  if (news.length > 0) await notices.announce(news)
  await watch.noteTold(untold)
}

function noticeOf(alarm: UntoldAlarm, accountId: AccountId, now: Instant): NewNotice {
  const { id, kind, severity, clearedAt, changedAt, facts } = alarm
  const data = { alarm: kind, severity, object: nameOf(alarm), since: iso(alarm.since), ...alarmText(alarm, now) }
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
function nameOf({ facts, object }: UntoldAlarm): string {
  return String(facts['number'] ?? facts['name'] ?? facts['folder'] ?? object)
}

function iso(at: Instant): string {
  return new Date(at).toISOString()
}
