import { capabilityDifferences } from '../connection/adapter-capabilities.ts'
import type { Instant } from '../ids.ts'
import type { Outage } from '../ports/lanes.ts'
import type {
  BrokenPromises,
  ChangedCapabilities,
  ContactLock,
  FullLane,
  InstallationFacts,
  Unconfirmed,
  Unreported,
} from '../ports/watch.ts'
import { BROKEN_PROMISES } from '../reasons/bridge.ts'
import type { Finding } from './alarm.ts'
import { ALARM_KINDS } from './alarm-kinds.ts'

/** What concerns all lanes at once. Pure. */
export function checkInstallation(facts: InstallationFacts, now: Instant): readonly Finding[] {
  const found: Finding[] = []
  const whole = { accountId: null, object: '', severity: 'critical', raises: true } as const
  if (facts.hold)
    found.push({ ...whole, kind: 'lanes_held', since: facts.hold.since, facts: { reason: facts.hold.reason } })
  if (facts.hasConnections && (facts.dispatchesUntil ?? 0) <= now)
    found.push({
      ...whole,
      kind: 'no_worker',
      since: facts.dispatchesUntil ?? now,
      facts: { lastAt: facts.dispatchesUntil },
    })
  return found
}

const OUTAGE_RAISED_FROM_MS = 30_000

/** Checks an outage of one process. A short one that refused no request raises no alarm. */
export function checkOutage(
  { since, until, cause, refused }: Outage & { readonly refused: number },
  { host, pid }: { readonly host: string; readonly pid: number },
): Finding {
  return {
    kind: 'storage_unavailable',
    accountId: null,
    object: `${host}:${pid}`,
    severity: ALARM_KINDS.storage_unavailable.severity,
    since,
    facts: { host, pid, until, lastedMs: until - since, cause, refused },
    raises: refused > 0 || until - since >= OUTAGE_RAISED_FROM_MS,
  }
}

export function checkUnconfirmed({ accountId, count, oldestAt }: Unconfirmed): Finding {
  return {
    kind: 'unconfirmed',
    accountId,
    object: accountId,
    severity: ALARM_KINDS.unconfirmed.severity,
    since: oldestAt,
    facts: { count, oldestAt },
    raises: true,
  }
}

/** Phones may be switched off, but the network says in seconds that it has sent a message. */
export const SILENT_FOR_MS = 10 * 60_000
const UNREPORTED_RAISED_FROM = 3

export function checkUnreported({ accountId, connectionId, oldestAt, ...unreported }: Unreported): Finding {
  const { number, channel, count, isMore, lastReportAt } = unreported
  return {
    kind: 'reports_missing',
    accountId,
    object: connectionId,
    severity: ALARM_KINDS.reports_missing.severity,
    since: oldestAt,
    facts: { number, channel, count, isMore, oldestAt, lastReportAt },
    raises: count >= UNREPORTED_RAISED_FROM,
  }
}

/** Each further promise is announced again. */
export function checkBrokenPromises({ accountId, connectionId, number, broken }: BrokenPromises): Finding {
  const names = Object.keys(BROKEN_PROMISES)
  const sorted = broken.toSorted((a, b) => names.indexOf(a.promise) - names.indexOf(b.promise))
  return {
    kind: 'promise_broken',
    accountId,
    object: connectionId,
    severity: ALARM_KINDS.promise_broken.severity,
    since: Math.min(...broken.map(({ at }) => at)),
    facts: {
      number,
      stage: sorted.map(({ promise }) => promise).join(' '),
      messageId: sorted[0]?.messageId ?? null,
      at: sorted[0]?.at ?? null,
    },
    raises: true,
  }
}

/** Empty if people need not know of it. */
export function checkChangedCapabilities({
  accountId,
  connectionId,
  number,
  stored,
  said,
  since,
}: ChangedCapabilities): readonly Finding[] {
  const what = capabilityDifferences(stored, said)
  if (what === null) return []
  return [
    {
      kind: 'bridge_capabilities_changed',
      accountId,
      object: connectionId,
      severity: ALARM_KINDS.bridge_capabilities_changed.severity,
      since,
      facts: { number, what },
      raises: true,
    },
  ]
}

/** Only a warning, because messages to known recipients are still sent. */
export function checkContactLock({ accountId, connectionId, number, channel, since, until }: ContactLock): Finding {
  return {
    kind: 'number_restricted',
    accountId,
    object: connectionId,
    severity: 'warning',
    since,
    facts: { number, channel, reason: 'first_contacts_locked', until },
    raises: true,
  }
}

/** Shares of the limit. Between them an alarm is neither raised nor cleared. */
const NEAR_LIMIT_SHARE = 0.9
export const KEPT_NEAR_LIMIT_SHARE = 0.8

export function checkFull({ accountId, connectionId, number, waiting, limit }: FullLane, now: Instant): Finding {
  return {
    kind: 'backlog_near_limit',
    accountId,
    object: connectionId ?? accountId,
    severity: waiting >= limit ? 'critical' : ALARM_KINDS.backlog_near_limit.severity,
    since: now,
    facts: { number, waiting, limit },
    raises: waiting >= limit * NEAR_LIMIT_SHARE,
  }
}
