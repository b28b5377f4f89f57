import type { AttentionItem } from '../../../src/contract/console/attention.ts'

/** What it is and how many, in one sentence. */
export function titleOf({ alarm, messages }: Pick<AttentionItem, 'alarm' | 'messages'>): string {
  if (messages === null) return alarm?.cause ?? ''
  const { count, state, meaning, reason } = messages
  const many = count === 1 ? '1 message' : `${count.toLocaleString('en')} messages`
  // Some of them may have been sent, and failed later.
  return `${many} ${state === 'EXPIRED' ? 'expired' : 'failed'}: ${meaning ?? reason ?? 'no reason is known'}`
}

const SAYS_WHEN: ReadonlySet<string> = new Set([
  ...['lanes_held', 'storage_unavailable', 'lane_stalled', 'connection_offline', 'reports_missing', 'promise_broken'],
  ...['no_worker', 'oldest_waiting', 'unconfirmed', 'token_expiring', 'token_expired_in_use'],
])

/** What stands before its time. Null: its title says since when it is so. */
export function timeLabelOf({ alarm, messages }: Pick<AttentionItem, 'alarm' | 'messages'>): string | null {
  if (messages !== null) return 'The latest'
  return SAYS_WHEN.has(alarm?.kind ?? '') ? null : 'Since'
}

/** Those that were not seen since their newest. */
export function unseen(items: readonly AttentionItem[]): readonly AttentionItem[] {
  return items.filter(({ seen }) => seen === null)
}
