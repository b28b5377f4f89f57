import type { MessageView } from '../../core/ports/administration.ts'
import { relativeTime } from './times.ts'

export const MESSAGE_COLUMNS = ['ID', 'FROM', 'TO', 'TYPE', 'STATE', 'REASON', 'ATTEMPTS', 'ACCEPTED', 'PUBLISHED']

export function messageRow(message: MessageView, now: number): readonly string[] {
  const { id, connection, to, type, state, reason, attempts, acceptedAt, publishedAt } = message
  const published = publishedAt === null ? '–' : relativeTime(publishedAt, now)
  return [id, connection, to, type, state, reason ?? '–', String(attempts), relativeTime(acceptedAt, now), published]
}
