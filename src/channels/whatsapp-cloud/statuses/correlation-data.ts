import type { MessageId } from '../../../core/ids.ts'
import { MESSAGE_TYPES, type MessageType } from '../../../core/message/message.ts'

/** What an attempt went out as: its type in free form, or as a template. */
type SentForm = MessageType | 'template'

/** What Meta gives back with its reports, because we sent it along: which attempt they speak of. */
export interface CorrelationData {
  readonly messageId: MessageId
  readonly attemptNumber: number
  /** Null: the sender did not say. */
  readonly form: SentForm | null
  /** The number it went to. Meta leaves that out of reports about people who hide their number. Null: not said. */
  readonly recipient: string | null
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const WRITTEN = new RegExp(`^(${UUID})#([1-9][0-9]{0,8})(?:#([a-z]{1,16})(?:#([1-9][0-9]{6,14}))?)?$`)
const FORMS: ReadonlySet<string> = new Set([...MESSAGE_TYPES, 'template'])

/** The text for `biz_opaque_callback_data`, of which Meta keeps 512 characters. */
export function writeCorrelationData({ messageId, attemptNumber, form, recipient }: CorrelationData): string {
  const rest = form === null ? [] : recipient === null ? [form] : [form, recipient]
  return [messageId, attemptNumber, ...rest].join('#')
}

/** Null: not written by us. */
export function readCorrelationData(text: unknown): CorrelationData | null {
  const [, messageId, attemptNumber, form, recipient] = (typeof text === 'string' && WRITTEN.exec(text)) || []
  if (messageId === undefined || attemptNumber === undefined) return null
  if (form !== undefined && !FORMS.has(form)) return null
  return {
    messageId: messageId as MessageId,
    attemptNumber: Number(attemptNumber),
    form: (form as SentForm | undefined) ?? null,
    recipient: recipient ?? null,
  }
}
