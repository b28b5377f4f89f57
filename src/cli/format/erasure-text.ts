import { commandLine } from '../../core/command-line.ts'
import type { TakenOut } from '../../core/message/taken-out.ts'
import { counted } from '../../format/counted.ts'

/** "11 messages were cancelled. 1 message is UNCONFIRMED: …": two numbers, because only for the first is it certain that nothing arrived. */
export function erasureText({ cancelled, unconfirmed }: TakenOut): string {
  const sure = `${counted(cancelled, 'message was', 'messages were')} cancelled.`
  if (unconfirmed === 0) return sure
  return `${sure} ${counted(unconfirmed, 'message is', 'messages are')} UNCONFIRMED: an earlier attempt may have arrived. See: ${commandLine`message list --state UNCONFIRMED`}`
}
