import { hasSecondId, type ReceiptEffect } from '../../../core/message/apply-receipt.ts'
import { ERASED } from '../../../core/message/erased.ts'
import type { MessageState } from '../../../core/message/message.ts'
import type { TimelineKind } from '../../../core/message/timeline.ts'
import type { Receipt, ReceiptEnd } from '../../../core/ports/channel.ts'

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

/** How a report ends that was applied. */
export function endOf({ conflict }: ReceiptEffect): Extract<ReceiptEnd, 'applied' | 'contradicted' | 'second-id'> {
  return conflict === 'opposite' ? 'contradicted' : (conflict ?? 'applied')
}

/** The report as it is kept: one with a second id of an attempt says so by its code. */
export function receiptOf(
  given: Receipt,
  { attempts, network_id: networkId }: { readonly attempts: number; readonly network_id: string | null },
): Receipt {
  const receipt = networkId === ERASED ? withoutPerson(given) : given
  return hasSecondId({ attempts, networkId }, receipt) ? { ...receipt, code: 'second_network_id' } : receipt
}

/** After the recipient was erased, the receipt keeps the result but nothing that may name the person. */
function withoutPerson(receipt: Receipt): Receipt {
  return { ...receipt, words: null, networkId: null }
}
