import { REPLIES } from '../../contract/reply-table.ts'
import { commandLine } from '../../core/command-line.ts'
import type { RequestError, RequestStory, SummedView } from '../../core/ports/administration.ts'
import { explainEndedToken } from '../../core/token/token.ts'
import { counted } from './counted.ts'
import { deletedInWords } from './deletion-text.ts'
import { printable } from './printable.ts'
import { plainTime, relativeTime } from './times.ts'

/** A request and its answer in plain words, for a person at a terminal. */
export function explainRequest(story: RequestStory, now: number): string {
  if (story.summed) return explainSum(story, story.summed)
  const { requestId, account, receivedAt, outcome, errors, endedToken } = story
  return [
    `Request ${requestId}`,
    `of the account “${printable(account)}”${sender(story)}`,
    '',
    `Received: ${relativeTime(receivedAt, now)}, at ${plainTime(receivedAt)}`,
    `Answered: ${answer(story)}`,
    `Outcome: ${outcome}`,
    ...errors.map(errorLine),
    ...whyEnded(endedToken),
    ...message(story),
    '',
    ...bodyLines(story),
  ].join('\n')
}

function explainSum(story: RequestStory, { requests, since }: SummedView): string {
  const { requestId, account, token, receivedAt, errors, endedToken } = story
  return [
    `Entry ${requestId}`,
    `of the account “${printable(account)}”${token === null ? '' : printable(`, with the token “${token}”`)}`,
    '',
    `${counted(requests, 'request was', 'requests were')} refused like this between ${plainTime(since)} and ${plainTime(receivedAt)}, and not listed one by one:`,
    'the account was refused more within an hour than NUNCIO_REFUSED_LOG_MB_PER_HOUR keeps.',
    `Answered: ${answer(story)}`,
    'What was wrong first:',
    // Where it was wrong may differ from one to the other.
    ...errors.map(({ code, message: words }) => printable(`  ${words} (${code})`)),
    ...whyEnded(endedToken),
  ].join('\n')
}

function sender({ token, remoteAddress, userAgent }: RequestStory): string {
  const parts = [
    token === null ? '' : `, with the token “${token}”`,
    remoteAddress === null ? '' : `, from ${remoteAddress}`,
    userAgent === null ? '' : `, by ${userAgent}`,
  ]
  return printable(parts.join(''))
}

function answer({ status, code, tookMs }: RequestStory): string {
  const reply = Object.values(REPLIES).find((known) => known.code === code)
  // A code of a newer version reads as itself.
  const name = reply ? ` (${reply.name})` : ''
  return `${status} ${code}${name}${tookMs === null ? '' : `, after ${tookMs} ms`}`
}

function errorLine({ field, code, message }: RequestError): string {
  return printable(`  ${field ?? 'the whole request'}: ${message} (${code})`)
}

function whyEnded(endedToken: RequestStory['endedToken']): readonly string[] {
  return endedToken ? [printable(`Why: ${explainEndedToken(endedToken)}`)] : []
}

function message({ messageId, state, connection, to }: RequestStory): readonly string[] {
  if (messageId === null) return []
  return [
    `Message: ${messageId} from ${connection ?? '–'} to ${to ?? '–'}, ${state ?? 'gone'} now`,
    `Its story: ${commandLine`message explain ${messageId}`}`,
  ]
}

function bodyLines({ body, bodyDeletedAt, receivedAt }: RequestStory): readonly string[] {
  if (bodyDeletedAt !== null) return [deletedInWords(bodyDeletedAt, receivedAt)]
  if (body === null) return ['Body: not kept, because it was not read or is no text']
  return ['Body:', ...body.split('\n').map(printable)]
}
