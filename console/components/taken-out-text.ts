import type { TakenOutView } from '../../src/contract/console/connections.ts'

/** "Cancelled 11 messages. 1 message may have arrived by an earlier attempt and is unconfirmed." Only the second sentence needs a person. */
export function takenOutText({ cancelled, unconfirmed }: TakenOutView): string {
  const sure = `Cancelled ${countedMessages(cancelled)}.`
  if (unconfirmed === 0) return sure
  return `${sure} ${countedMessages(unconfirmed)} may have arrived by an earlier attempt and ${unconfirmed === 1 ? 'is' : 'are'} unconfirmed.`
}

function countedMessages(count: number): string {
  return `${count.toLocaleString('en')} ${count === 1 ? 'message' : 'messages'}`
}
