import type { RequestView } from '../../core/ports/administration.ts'
import { counted } from '../../format/counted.ts'
import { relativeTime } from '../../format/instants.ts'
import { shorten } from './printable.ts'

export const REQUEST_COLUMNS = [
  'REQUEST',
  'RECEIVED',
  'STATUS',
  'OUTCOME',
  'STATE OR ERROR',
  'FROM',
  'TO',
  'TOKEN',
  'ACCOUNT',
  'MESSAGE',
]

const LONGEST_ERRORS = 40
// A refused request may hold anything where a number should be.
const LONGEST_NUMBER = 20

export function requestRow(request: RequestView, now: number): readonly string[] {
  const { requestId, receivedAt, status, outcome, connection, to, token, account, messageId } = request
  return [
    requestId,
    relativeTime(receivedAt, now),
    String(status),
    request.summed ? `${outcome} ${counted(request.summed.requests, 'time')}` : outcome,
    request.state ?? shorten(request.errors.map(({ code }) => code).join(', '), LONGEST_ERRORS),
    shorten(connection ?? '–', LONGEST_NUMBER),
    shorten(to ?? '–', LONGEST_NUMBER),
    token ?? '–',
    account,
    messageId ?? '–',
  ]
}
