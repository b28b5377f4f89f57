import { type SqlBool, sql } from 'kysely'
import type { Instant } from '../../../core/ids.ts'
import type { AlarmScope, Alarms, AlarmView } from '../../../core/ports/console/alarms.ts'
import type { AlarmFacts } from '../../../core/watchdog/alarm.ts'
import { ALARM_KINDS, ALARM_SEVERITIES, type AlarmKind, isAlarmKind } from '../../../core/watchdog/alarm-kinds.ts'
import { alarmText } from '../../../core/watchdog/alarm-text.ts'
import { isOnlyAccount } from '../people/is-only-account.ts'
import type { Store } from '../store.ts'

// More open alarms than this have one common cause, which a person fixes first.
const MOST_OPEN = 200

export function createAlarms(store: Store): Alarms {
  return {
    async readOpen(whose) {
      const query = await selectAlarms(store, whose)
      const rows = await query
        .where('alarm.cleared_at', 'is', null)
        // The watchdog ends this alarm at its next check, but a person who has just released the numbers must not be asked again.
        .where(
          sql<SqlBool>`(alarm.kind <> ${sql.lit('lanes_held' satisfies AlarmKind)} or exists (select 1 from hold))`,
        )
        .orderBy('alarm.id')
        .limit(MOST_OPEN)
        .execute()
      const now = store.now()
      return rows.flatMap((row) => toView(row, now)).sort((one, other) => rank(one) - rank(other) || one.id - other.id)
    },
    async list({ before, limit, ...whose }) {
      const query = await selectAlarms(store, whose)
      const rows = await query
        .$if(before !== null, (all) => all.where('alarm.id', '<', before ?? 0))
        .orderBy('alarm.id', 'desc')
        .limit(limit)
        .execute()
      const now = store.now()
      return rows.flatMap((row) => toView(row, now))
    },
  }
}

async function selectAlarms({ database }: Store, { accountId, seesInstallation }: AlarmScope) {
  const query = database
    .selectFrom('alarm')
    .leftJoin('account', 'account.id', 'alarm.account_id')
    .select([
      'alarm.id',
      'alarm.account_id as accountId',
      'account.name as account',
      'alarm.kind',
      'alarm.object',
      'alarm.severity',
      'alarm.facts',
      'alarm.since',
      'alarm.raised_at as raisedAt',
      'alarm.cleared_at as clearedAt',
    ])
  if (accountId === null) return query
  const isAlone = seesInstallation && (await isOnlyAccount(database, accountId))
  return isAlone
    ? query.where((where) =>
        where.or([where('alarm.account_id', '=', accountId), where('alarm.account_id', 'is', null)]),
      )
    : query.where('alarm.account_id', '=', accountId)
}

type AlarmRow = Awaited<ReturnType<Awaited<ReturnType<typeof selectAlarms>>['execute']>>[number]

/** The current state, or the state when it was cleared. Kinds of a newer version are left out, because they have no text here. */
function toView({ accountId, kind, facts: stored, ...alarm }: AlarmRow, now: Instant): AlarmView[] {
  if (!isAlarmKind(kind)) return []
  const facts = JSON.parse(stored) as AlarmFacts
  return [
    {
      ...alarm,
      kind,
      // What waits is counted by connection and by account.
      of: alarm.object === accountId ? 'account' : ALARM_KINDS[kind].of,
      name: String(facts['number'] ?? facts['name'] ?? facts['folder'] ?? ''),
      ...alarmText({ kind, since: alarm.since, facts }, alarm.clearedAt ?? now),
    },
  ]
}

function rank({ severity }: AlarmView): number {
  return ALARM_SEVERITIES.indexOf(severity)
}
