import { hash } from 'node:crypto'
import type { MessageContent } from '../../core/message/message.ts'

/**
 * What makes two requests under one idempotency key the same: the checked fields, without regard to the order of
 * keys, to unknown fields, or to what is ignored.
 */
export function fingerprint(from: string, to: string, content: MessageContent): string {
  const fields =
    content.type === 'message'
      ? [from, to, content.type, content.text]
      : [from, to, content.type, content.name, content.url, content.caption]
  return hash('sha256', JSON.stringify(fields), 'base64url')
}
