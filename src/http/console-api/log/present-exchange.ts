import type { LogDetail } from '../../../contract/console/log.ts'
import { refusalBody, type SuccessState, successBody } from '../../../contract/replies.ts'
import { REPLIES, type RefusalReplyKind } from '../../../contract/reply-table.ts'
import { shellWord } from '../../../core/command-line.ts'
import type { LogTimeline } from '../../../core/ports/console/api-log.ts'
import { stateOfReplay } from '../../server/state-of-replay.ts'

const SEND_PATH = '/chat/api/v1/public/message/send'
const JSON_TYPE = 'application/json; charset=utf-8'

/** The request as received, as far as it is kept. Null: a person made the message, or the entry stands for many requests. */
export function presentRequest({ entry, body }: LogTimeline, publicUrl: string): LogDetail['request'] {
  if (entry.outcome === 'copied' || entry.summed) return null
  const url = publicUrl + SEND_PATH
  const { token, remoteAddress, userAgent } = entry
  return {
    method: 'POST',
    url,
    headers: [
      { name: 'content-type', value: 'application/json' },
      // Only the beginning of a token is kept.
      { name: 'x-api-key', value: token ? `nco_${token.prefix}•••` : 'nco_•••' },
      ...(userAgent === null ? [] : [{ name: 'user-agent', value: userAgent }]),
    ],
    body,
    remoteAddress,
    userAgent,
    // Without its body it would be another request.
    curl: body === null ? null : curlOf(url, body),
  }
}

function curlOf(url: string, body: string): string {
  const lines = [
    `curl ${shellWord(url)}`,
    `  -H "x-api-key: $NUNCIO_TOKEN"`,
    `  -H 'content-type: application/json'`,
    `  --data-raw ${shellWord(body)}`,
  ]
  return lines.join(' \\\n')
}

/** The reply as it was sent, made again from the entry. */
export function presentReply(timeline: LogTimeline): LogDetail['reply'] {
  const { status, code, messageId, requestId } = timeline.entry
  if (status === null || code === null || requestId === null) return null
  const headers = [
    { name: 'content-type', value: JSON_TYPE },
    ...(messageId === null ? [] : [{ name: 'x-message-id', value: messageId }]),
    { name: 'x-request-id', value: requestId },
  ]
  return { status, headers, body: JSON.stringify(replyBody(timeline, code)) }
}

function replyBody(timeline: LogTimeline, code: string): unknown {
  const { errors } = timeline.entry
  const kind = (Object.keys(REPLIES) as (keyof typeof REPLIES)[]).find((name) => REPLIES[name].code === code)
  if (kind === 'success') return successBody(stateThen(timeline))
  // A code of a newer version.
  if (kind === undefined) return { success: false, code, data: { errors } }
  return refusalBody(kind satisfies RefusalReplyKind, errors)
}

/** The reply to a repeat has the state of its message; every other accepted request queues a message. */
function stateThen({ entry }: LogTimeline): SuccessState {
  return entry.stateThen === null ? 'QUEUED' : stateOfReplay(entry.stateThen)
}
