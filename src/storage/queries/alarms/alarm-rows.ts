import type { AccountId, Instant } from '../../../core/ids.ts'
import type { UnannouncedAlarm } from '../../../core/ports/watch.ts'
import type { AlarmFacts } from '../../../core/watchdog/alarm.ts'
import { type AlarmSeverity, isAlarmKind } from '../../../core/watchdog/alarm-kinds.ts'

interface AlarmRow {
  readonly id: number
  readonly account_id: AccountId | null
  readonly kind: string
  readonly object: string
  readonly severity: AlarmSeverity
  readonly facts: string
  readonly since: Instant
  readonly raised_at: Instant
  readonly changed_at: Instant
  readonly cleared_at: Instant | null
}

export const ALARM_COLUMNS = 'id, account_id, kind, object, severity, facts, since, raised_at, changed_at, cleared_at'

/** Without kinds of a newer version: this one has no words for them, and must not clear them. */
export function toAlarms(rows: readonly unknown[]): readonly UnannouncedAlarm[] {
  return (rows as readonly AlarmRow[]).flatMap((row) =>
    isAlarmKind(row.kind)
      ? [
          {
            id: row.id,
            kind: row.kind,
            accountId: row.account_id,
            object: row.object,
            severity: row.severity,
            since: row.since,
            facts: JSON.parse(row.facts) as AlarmFacts,
            raisedAt: row.raised_at,
            changedAt: row.changed_at,
            clearedAt: row.cleared_at,
          },
        ]
      : [],
  )
}
