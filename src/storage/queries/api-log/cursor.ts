import type { Sequence } from '../../../core/message/message.ts'
import { Refusal } from '../../../core/refusals.ts'

/** The oldest row of each source that was read. Null: the source was read to its end. */
export interface LogPosition {
  readonly messages: Sequence | null
  readonly requests: Sequence | null
}

export const NEWEST: LogPosition = { messages: Number.MAX_SAFE_INTEGER, requests: Number.MAX_SAFE_INTEGER }

/** Null when both sources were read to their end. */
export function printCursor({ messages, requests }: LogPosition): string | null {
  if (messages === null && requests === null) return null
  return Buffer.from(`${messages ?? ''}.${requests ?? ''}`).toString('base64url')
}

export function parseCursor(text: string | null): LogPosition {
  if (text === null) return NEWEST
  const parts = /^(\d{0,16})\.(\d{0,16})$/.exec(Buffer.from(text, 'base64url').toString('latin1'))
  if (!parts) throw new Refusal('argument_invalid', 'This cursor is not valid. Read the API log again from the start.')
  return { messages: toSequence(parts[1]), requests: toSequence(parts[2]) }
}

function toSequence(digits = ''): Sequence | null {
  return digits === '' ? null : Math.min(Number(digits), Number.MAX_SAFE_INTEGER)
}
