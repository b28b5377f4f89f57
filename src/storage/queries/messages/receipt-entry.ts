import type { MessageState } from '../../../core/message/message.ts'
import type { TimelineKind } from '../../../core/message/timeline.ts'
import type { Receipt } from '../../../core/ports/channel.ts'

/** The timeline entry of a report. A contrary report without words uses its kind as words. */
export function receiptEntry(
  { kind, words }: Pick<Receipt, 'kind' | 'words'>,
  contrary: boolean,
): { kind: TimelineKind; words: string | null } {
  return contrary ? { kind: 'receipt-contrary', words: words ?? kind } : { kind: `receipt-${kind}`, words }
}

/** Whether it is not proven in this state that the network accepted the message. */
export function isDoubtful(state: MessageState | null): boolean {
  return state === 'FAILED' || state === 'UNCONFIRMED'
}

/** After the recipient was erased, the receipt keeps the result but nothing that may name the person. */
export function withoutPerson(receipt: Receipt): Receipt {
  return { ...receipt, words: null, networkId: null }
}
