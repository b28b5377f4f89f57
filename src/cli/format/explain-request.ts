import { REPLIES } from '../../contract/reply-table.ts'
import { commandLine } from '../../core/command-line.ts'
import type { RequestError, RequestTimeline, SummedView } from '../../core/ports/administration.ts'
import { explainEndedToken } from '../../core/token/token.ts'
import { counted } from '../../format/counted.ts'
import { tookText } from '../../format/durations.ts'
import { plainTime, relativeTime } from '../../format/instants.ts'
import { deletionText } from './deletion-text.ts'
import { printable } from './printable.ts'

/** A request and its answer in plain words, for a person at a terminal. */
export function explainRequest(timeline: RequestTimeline, now: number): string {
  if (timeline.summed) return explainSum(timeline, timeline.summed)
  const { requestId, account, receivedAt, outcome, errors, endedToken } = timeline
  return [
    `Request ${requestId}`,
    `of the account “${printable(account)}”${sender(timeline)}`,
    '',
    `Received: ${relativeTime(receivedAt, now)}, at ${plainTime(receivedAt)}`,
    `Answered: ${answer(timeline)}`,
    `Outcome: ${outcome}`,
    ...errors.map(errorLine),
    ...whyEnded(endedToken),
    ...message(timeline),
    '',
    ...bodyLines(timeline),
  ].join('\n')
}

function explainSum(timeline: RequestTimeline, { requests, since }: SummedView): string {
  const { requestId, account, token, receivedAt, errors, endedToken } = timeline
  return [
    `Entry ${requestId}`,
    `of the account “${printable(account)}”${token === null ? '' : printable(`, with the token “${token}”`)}`,
    '',
    `${counted(requests, 'request was', 'requests were')} refused like this between ${plainTime(since)} and ${plainTime(receivedAt)}, and not listed one by one:`,
    'the account was refused more within an hour than NUNCIO_REFUSED_LOG_MB_PER_HOUR keeps.',
    `Answered: ${answer(timeline)}`,
    'What was wrong first:',
    // Where it was wrong may differ from one to the other.
    ...errors.map(({ code, message: words }) => printable(`  ${words} (${code})`)),
    ...whyEnded(endedToken),
  ].join('\n')
}

function sender({ token, remoteAddress, userAgent }: RequestTimeline): string {
  const parts = [
    token === null ? '' : `, with the token “${token}”`,
    remoteAddress === null ? '' : `, from ${remoteAddress}`,
    userAgent === null ? '' : `, by ${userAgent}`,
  ]
  return printable(parts.join(''))
}

function answer({ status, code, tookMs }: RequestTimeline): string {
  const reply = Object.values(REPLIES).find((known) => known.code === code)
  // A code of a newer version has no text here, so the code itself is printed.
  const name = reply ? ` (${reply.name})` : ''
  return `${status} ${code}${name}${tookMs === null ? '' : `, after ${tookText(tookMs)}`}`
}

function errorLine({ field, code, message }: RequestError): string {
  return printable(`  ${field ?? 'the whole request'}: ${message} (${code})`)
}

function whyEnded(endedToken: RequestTimeline['endedToken']): readonly string[] {
  return endedToken ? [printable(`Why: ${explainEndedToken(endedToken)}`)] : []
}

function message({ messageId, state, connection, to }: RequestTimeline): readonly string[] {
  if (messageId === null) return []
  return [
    `Message: ${messageId} from ${connection ?? '–'} to ${to ?? '–'}, ${state ?? 'gone'} now`,
    `Its timeline: ${commandLine`message explain ${messageId}`}`,
  ]
}

function bodyLines({ body, bodyDeletedAt, receivedAt, status }: RequestTimeline): readonly string[] {
  if (bodyDeletedAt !== null) return [deletionText(bodyDeletedAt, receivedAt)]
  if (body === null && status === 401) return ['Body: not kept, because without a valid token it is not read']
  if (body === null) return ['Body: not kept, because it was not read or is no text']
  return ['Body:', ...body.split('\n').map(printable)]
}
