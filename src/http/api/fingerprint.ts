import { hash } from 'node:crypto'
import type { MessageContent } from '../../core/message/message.ts'

/**
 * Two requests under one idempotency key are the same if their checked fields are equal. The order of keys, unknown
 * fields and ignored values do not matter.
 */
export function fingerprint(from: string, to: string, content: MessageContent): string {
  const fields =
    content.type === 'message'
      ? [from, to, content.type, content.text]
      : [from, to, content.type, content.name, content.url, content.caption]
  return hash('sha256', JSON.stringify(fields), 'base64url')
}
