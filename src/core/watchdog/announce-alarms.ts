import type { AccountId, Instant } from '../ids.ts'
import type { NewNotice, Notices } from '../ports/notices.ts'
import type { UntoldAlarm, Watch } from '../ports/watch.ts'
import { tellAlarm } from './tell-alarm.ts'

export interface AnnouncingParts {
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
    return accountId === null ? [] : [noticeOf(alarm, accountId, now)]
  })
  if (news.length > 0) await notices.announce(news)
  await watch.noteTold(untold)
}

function noticeOf(alarm: UntoldAlarm, accountId: AccountId, now: Instant): NewNotice {
  const { id, kind, severity, clearedAt, changedAt, facts } = alarm
  if (kind === 'token_expiring') return tokenNotice(alarm, accountId)
  const data = { alarm: kind, severity, object: nameOf(alarm), since: iso(alarm.since), ...tellAlarm(alarm, now) }
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

/** Of a token people are told as such, and not as of an alarm: it need not be anything wrong. */
function tokenNotice({ object, facts, changedAt, clearedAt }: UntoldAlarm, accountId: AccountId): NewNotice {
  const expiresAt = Number(facts['expiresAt'])
  const data = { tokenId: object, name: facts['name'], prefix: facts['prefix'], expiresAt: iso(expiresAt) }
  if (clearedAt === null) {
    const daysLeft = facts['stage']
    return {
      accountId,
      kind: 'token.expiring',
      at: changedAt,
      key: `token:${object}:${daysLeft}`,
      data: { ...data, daysLeft },
    }
  }
  if (clearedAt >= expiresAt)
    return { accountId, kind: 'token.expired', at: expiresAt, key: `token:${object}:expired`, data }
  const cleared = {
    alarm: 'token_expiring',
    object: facts['name'],
    clearedAt: iso(clearedAt),
    cause: 'The token was deleted.',
  }
  return { accountId, kind: 'alarm.cleared', at: clearedAt, key: `token:${object}:cleared`, data: cleared }
}

/** What people call it. */
function nameOf({ facts, object }: UntoldAlarm): string {
  return String(facts['number'] ?? facts['name'] ?? facts['folder'] ?? object)
}

function iso(at: Instant): string {
  return new Date(at).toISOString()
}
