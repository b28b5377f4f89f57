import type { AttentionItem } from '../../../src/contract/console/attention.ts'

const SAYS_WHEN: ReadonlySet<string> = new Set([
  ...['lanes_held', 'storage_unavailable', 'lane_stalled', 'connection_offline', 'reports_missing', 'promise_broken'],
  ...['no_worker', 'oldest_waiting', 'unconfirmed', 'token_expiring', 'token_expired_in_use'],
])

/** What stands before its time. Null: its title says since when it is so. */
export function timeLabelOf({ alarm, messages }: Pick<AttentionItem, 'alarm' | 'messages'>): string | null {
  if (messages !== null) return 'The latest'
  if (alarm === null) return 'Since'
  return SAYS_WHEN.has(alarm.kind) ? null : 'Since'
}

/** Those that were not seen since their newest. */
export function unseen(items: readonly AttentionItem[]): readonly AttentionItem[] {
  return items.filter(({ seen }) => seen === null)
}
