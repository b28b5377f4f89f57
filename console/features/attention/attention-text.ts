import type { AttentionItem } from '../../../src/contract/console/attention.ts'

/** What it is and how many, in one sentence. */
export function titleOf({ alarm, messages }: Pick<AttentionItem, 'alarm' | 'messages'>): string {
  if (messages === null) return alarm?.cause ?? ''
  const { count, state, meaning, reason } = messages
  const many = count === 1 ? '1 message' : `${count.toLocaleString('en')} messages`
  return `${many} ${state === 'EXPIRED' ? 'expired' : 'not sent'}: ${meaning ?? reason ?? 'no reason is known'}`
}

/** Those that were not seen since their newest. */
export function unseen(items: readonly AttentionItem[]): readonly AttentionItem[] {
  return items.filter(({ seen }) => seen === null)
}
