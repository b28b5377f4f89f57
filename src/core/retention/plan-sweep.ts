import type { AccountId, Instant } from '../ids.ts'
import type { RetentionTask } from '../ports/retention.ts'
import { isLonger, NO_OWN_TIMES, type OwnTimes, type RetentionTimes, timesOf } from './retention-times.ts'

const DAY_MS = 86_400_000
// The figures of the overview take hardly any space.
const TALLIES_KEPT_MS = 2 * 365 * DAY_MS

export interface SweepTimes extends RetentionTimes {
  readonly auditDays: number
}

/**
 * All that a sweep has to do, in this order: accounts with shorter times first, bodies before the messages that they belong
 * to, and whole days before what is left of them. Pure.
 */
export function planSweep(
  times: SweepTimes,
  own: ReadonlyMap<AccountId, OwnTimes>,
  now: Instant,
): readonly RetentionTask[] {
  const since = (days: number): Instant => now - days * DAY_MS
  const ofAccount = (id: AccountId) => timesOf(times, own.get(id) ?? NO_OWN_TIMES)
  const tasks: RetentionTask[] = []
  for (const part of ['body', 'whole'] as const) {
    const [ofMessages, ofRequests] =
      part === 'body' ? (['message.body', 'request.body'] as const) : (['message', 'request'] as const)
    const daysOf = (each: RetentionTimes) => (part === 'body' ? each.bodiesDays : each.messagesDays)
    const days = daysOf(timesOf(times, NO_OWN_TIMES))
    for (const accountId of own.keys()) {
      const shorter = daysOf(ofAccount(accountId))
      if (shorter === days || isLonger(shorter, days)) continue
      for (const what of [ofMessages, ofRequests]) tasks.push({ do: 'walk', what, accountId, before: since(shorter) })
    }
    const before = (id: AccountId) => (daysOf(ofAccount(id)) === 0 ? null : since(daysOf(ofAccount(id))))
    tasks.push({ do: 'recheck', what: ofMessages, before })
    if (part === 'body') tasks.push({ do: 'trim-inbox', before })
    if (days === 0) continue
    if (part === 'whole') tasks.push({ do: 'drop-days', before: since(days) })
    for (const what of [ofMessages, ofRequests]) tasks.push({ do: 'walk', what, accountId: null, before: since(days) })
  }
  const waitsDays = longestMessagesDays(times, own)
  if (waitsDays > 0) tasks.push({ do: 'trim', table: 'waits', before: since(waitsDays) })
  if (times.auditDays > 0) tasks.push({ do: 'trim', table: 'audit', before: since(times.auditDays) })
  tasks.push({ do: 'trim', table: 'tallies', before: now - TALLIES_KEPT_MS })
  return tasks
}

/** Past waits are shown in the timelines of messages. 0: for ever. */
function longestMessagesDays(times: RetentionTimes, own: ReadonlyMap<AccountId, OwnTimes>): number {
  const all = [...own.values(), NO_OWN_TIMES].map((each) => timesOf(times, each).messagesDays)
  return all.reduce((longest, days) => (isLonger(days, longest) ? days : longest))
}
