import { createHash } from 'node:crypto'
import type { Handover } from '../../core/ports/channel.ts'

/** The id of a message at WhatsApp: the same for each attempt, so that a phone shows one that comes again only once. */
export function wireIdOf({ connectionId, messageId }: Pick<Handover, 'connectionId' | 'messageId'>): string {
  const hash = createHash('sha256').update(`${connectionId}:${messageId}`).digest('hex')
  return `3EB0${hash.slice(0, 18).toUpperCase()}`
}
