import type { Instant } from '../ids.ts'
import { alarmKey, type Finding, type OpenAlarm } from './alarm.ts'
import { ALARM_KINDS, ALARM_SEVERITIES } from './alarm-kinds.ts'

// Sentences hold counts and ages. They need not be newer than this, and each change is a commit.
const UPDATED_AFTER_MS = 60_000

/** By `alarmKey`: since when each problem without an alarm has been found, and each open alarm's problem has not. */
export interface AlarmMemory {
  readonly found: ReadonlyMap<string, Instant>
  readonly gone: ReadonlyMap<string, Instant>
}

export const NO_ALARM_MEMORY: AlarmMemory = { found: new Map(), gone: new Map() }

interface AlarmMoves {
  readonly raise: readonly Finding[]
  readonly change: readonly { readonly alarm: OpenAlarm; readonly finding: Finding; readonly isWorse: boolean }[]
  readonly clear: readonly OpenAlarm[]
  readonly memory: AlarmMemory
}

interface Check {
  readonly open: readonly OpenAlarm[]
  readonly findings: readonly Finding[]
  readonly memory: AlarmMemory
  readonly now: Instant
}

/**
 * The changes of alarms after one check. Pure.
 *
 *   (none) ── found for `raisedAfterMs` ──▶ OPEN ── not found for `clearedAfterMs` ──▶ cleared
 *
 * This prevents flapping: a condition that changes faster has no effect, and one between its two limits (`raises` is false)
 * neither raises nor clears.
 */
export function settleAlarms({ open, findings, memory, now }: Check): AlarmMoves {
  const byKey = new Map(findings.map((finding) => [alarmKey(finding), finding]))
  const openKeys = new Set(open.map(alarmKey))
  const found = new Map<string, Instant>()
  const raise: Finding[] = []
  for (const [key, finding] of byKey) {
    if (openKeys.has(key) || !finding.raises) continue
    const since = notAfter(memory.found.get(key), now)
    if (now - since >= ALARM_KINDS[finding.kind].raisedAfterMs) raise.push(finding)
    else found.set(key, since)
  }
  const gone = new Map<string, Instant>()
  const change: AlarmMoves['change'][number][] = []
  const clear: OpenAlarm[] = []
  for (const alarm of open) {
    const key = alarmKey(alarm)
    const finding = byKey.get(key)
    if (finding) {
      const move = changeOf(alarm, finding, now)
      if (move) change.push(move)
      continue
    }
    const since = notAfter(memory.gone.get(key), now)
    if (now - since >= ALARM_KINDS[alarm.kind].clearedAfterMs) clear.push(alarm)
    else gone.set(key, since)
  }
  return { raise, change, clear, memory: { found, gone } }
}

function changeOf(alarm: OpenAlarm, finding: Finding, now: Instant): AlarmMoves['change'][number] | null {
  const isWorse = rank(finding) > rank(alarm) || finding.facts['stage'] !== alarm.facts['stage']
  const isTimely = now - alarm.changedAt >= UPDATED_AFTER_MS || now < alarm.changedAt
  const isOther = JSON.stringify(alarm.facts) !== JSON.stringify(finding.facts)
  if (!isWorse && !(isTimely && isOther)) return null
  // Severity never decreases while an alarm is open.
  const severity = rank(finding) > rank(alarm) ? finding.severity : alarm.severity
  return { alarm, finding: { ...finding, severity, since: alarm.since }, isWorse }
}

function rank({ severity }: Pick<Finding, 'severity'>): number {
  return -ALARM_SEVERITIES.indexOf(severity)
}

/** A clock that was set back must not keep things waiting. */
function notAfter(since: Instant | undefined, now: Instant): Instant {
  return since === undefined || since > now ? now : since
}
