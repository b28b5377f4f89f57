import type { Instant, MessageId } from '../ids.ts'
import type { ReasonCode } from '../reasons.ts'
import type { MessageType } from './message.ts'

/** A deferred message that later messages to the same recipient wait for. */
export interface EarlierMessage {
  readonly id: MessageId
  readonly type: MessageType
  /** What it waits for: a code of core/reasons.ts, and until when. */
  readonly reason: string
  readonly until: Instant | null
}

const TYPES: Readonly<Record<string, string>> = { message: 'text', audio: 'audio file' }

/**
 * What a message behind it waits for, and when that is tried again: the time belongs after the text. It is not the time when the
 * later message is sent, because the try may fail.
 */
export function earlierText({ type, reason, until }: EarlierMessage): {
  readonly text: string
  readonly at: Instant | null
} {
  const name = `an earlier ${TYPES[type] ?? type} to the same recipient`
  const say = (next: string, at: Instant | null) => ({ text: `${name}: ${next}`, at })
  if (reason === ('media_uploading' satisfies ReasonCode)) return say('its file is uploaded first', null)
  if (reason === ('media_pending' satisfies ReasonCode))
    return until === null ? say('its file is not downloaded yet', null) : say('its download is tried again', until)
  return until === null ? { text: name, at: null } : say('it is tried again', until)
}
