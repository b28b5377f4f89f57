import type { TimelineKind } from '../../core/message/timeline.ts'
import type { Receipt } from '../../core/ports/channel.ts'

/** As a report stands in the story of its message. A contrary one names its kind in its words, unless it has some. */
export function receiptMoment(
  { kind, words }: Pick<Receipt, 'kind' | 'words'>,
  contrary: boolean,
): { kind: TimelineKind; words: string | null } {
  return contrary ? { kind: 'receipt-contrary', words: words ?? kind } : { kind: `receipt-${kind}`, words }
}
