import { checkNumber } from '../../contract/field-rules.ts'
import { type FieldError, parseSendMessage, type SendMessageRequest } from '../../contract/send-message.ts'
import { checkMediaUrl, type OperatorRanges } from '../../core/media-address/check-url.ts'
import type { MessageContent } from '../../core/message/message.ts'
import { type Problem, problem } from '../server/problem.ts'
import { parseStrictJson } from '../server/strict-json.ts'

export type CheckedBody =
  | {
      readonly ok: true
      readonly text: string
      readonly from: string
      readonly to: string
      readonly content: MessageContent
    }
  | {
      readonly ok: false
      /** Null when the body is no text. */
      readonly text: string | null
      /** The sender number, if at least that is valid. */
      readonly from: string | null
      readonly problems: readonly Problem[]
    }

const URL_FIELD = 'message.media.url'

/**
 * Validates everything in a body that needs no storage, and reports all wrong fields together. Null: the body was larger
 * than allowed.
 */
export function checkBody(bytes: Buffer | null, mediaRanges: OperatorRanges): CheckedBody {
  if (bytes === null) return { ok: false, text: null, from: null, problems: [problem('body_too_large')] }
  if (bytes.length === 0) return { ok: false, text: null, from: null, problems: [problem('body_missing')] }
  const json = parseStrictJson(bytes)
  if (!json.ok) {
    const { code, field, detail, text } = json
    return { ok: false, text, from: null, problems: [problem(code, knownPart(field), detail)] }
  }

  const parsed = parseSendMessage(json.value)
  if (!parsed.ok) return refuseFields(json, parsed.errors, mediaRanges)
  const { from, to, message } = parsed.request
  if (message.type === 'message') {
    return { ok: true, text: json.text, from, to, content: { type: 'message', text: message.message } }
  }
  const url = checkMediaUrl(message.media.url, mediaRanges)
  if (!url.ok) return { ok: false, text: json.text, from, problems: [problem(url.code, URL_FIELD, url.detail)] }
  return { ok: true, text: json.text, from, to, content: mediaContent(message, url.url) }
}

type MediaMessage = Exclude<SendMessageRequest['message'], { readonly type: 'message' }>

function mediaContent({ type, media }: MediaMessage, url: string): MessageContent {
  // Audio has no caption, and an empty caption means none.
  const caption = type === 'audio' ? null : media.caption || null
  return { type, name: media.name, url, caption }
}

function refuseFields(
  json: { readonly text: string; readonly value: unknown },
  errors: readonly FieldError[],
  mediaRanges: OperatorRanges,
): CheckedBody {
  // This line also makes the compiler check that the contract's codes are refusals: the contract does not import the core.
  const problems: Problem[] = [...errors]
  // The contract does not check addresses, so the URL is checked here if the body has one.
  const url = fieldAt(json.value, URL_FIELD)
  if (typeof url === 'string' && !errors.some(({ field }) => field !== null && isAtOrAbove(field, URL_FIELD))) {
    const checked = checkMediaUrl(url, mediaRanges)
    if (!checked.ok) problems.push(problem(checked.code, URL_FIELD, checked.detail))
  }
  const from = fieldAt(json.value, 'from')
  const isNumber = typeof from === 'string' && checkNumber(from) === null
  return { ok: false, text: json.text, from: isNumber ? from : null, problems }
}

const IN_MESSAGE = ['type', 'message', 'media', 'media.name', 'media.url', 'media.caption']
const FIELDS: ReadonlySet<string> = new Set(['from', 'to', 'message', ...IN_MESSAGE.map((name) => `message.${name}`)])

/** Names of keys come from the caller, so an error names only known fields. */
function knownPart(field: string | null): string | null {
  let known = field
  while (known !== null && !FIELDS.has(known)) {
    const end = known.lastIndexOf('.')
    known = end === -1 ? null : known.slice(0, end)
  }
  return known
}

/** Whether an error of `field` makes it pointless to check `target`. */
function isAtOrAbove(field: string, target: string): boolean {
  return field === 'message.type' || field === target || target.startsWith(`${field}.`)
}

function fieldAt(value: unknown, path: string): unknown {
  let found = value
  for (const step of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, step)) return undefined
    found = (found as Record<string, unknown>)[step]
  }
  return found
}
