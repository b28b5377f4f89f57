import { z } from 'zod'
import {
  CAPTION_MAX_CHARACTERS,
  CAPTION_PATTERN,
  checkCaption,
  checkName,
  checkNumber,
  checkText,
  checkUrlForm,
  type FieldErrorCode,
  type Finding,
  NAME_MAX_BYTES,
  NAME_PATTERN,
  NUMBER_PATTERN,
  TEXT_MAX_CHARACTERS,
  TEXT_PATTERN,
  URL_MAX_CHARACTERS,
  URL_PATTERN,
} from './field-rules.ts'

/** One thing that is wrong with a request. */
export interface FieldError {
  /** Path in the body, such as `message.media.url`; null when it is the whole body. */
  readonly field: string | null
  readonly code: FieldErrorCode
  /** What is wrong and how to fix it. */
  readonly message: string
}

type ParsedSendMessage =
  | { readonly ok: true; readonly request: SendMessageRequest }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

const senderNumber = ruled(checkNumber).meta({
  pattern: NUMBER_PATTERN,
  description:
    'Sender number: a number connected to your account. Country code and digits only, no `+`, spaces or dashes.',
  examples: ['14155550100'],
})

const recipientNumber = ruled(checkNumber).meta({
  pattern: NUMBER_PATTERN,
  description: 'Recipient number, in the same format as `from`.',
  examples: ['14155550123'],
})

const text = ruled(checkText).meta({
  minLength: 1,
  maxLength: TEXT_MAX_CHARACTERS,
  pattern: TEXT_PATTERN,
  description:
    'What the recipient reads. At least one visible character; no control characters but tab and line breaks.',
  examples: ['Your parcel arrives tomorrow between 9 and 11.'],
})

const fileName = ruled(checkName).meta({
  minLength: 1,
  // No name of so many bytes has more characters.
  maxLength: NAME_MAX_BYTES,
  pattern: NAME_PATTERN,
  description:
    'File name shown to the recipient, with extension. At most 255 bytes; no slash, backslash or control character.',
  examples: ['invoice.pdf'],
})

const mediaUrl = ruled(checkUrlForm).meta({
  format: 'uri',
  maxLength: URL_MAX_CHARACTERS,
  pattern: URL_PATTERN,
  description:
    'Public http or https URL, reachable without authentication. The file is downloaded from it before sending. Without user name and password; port 80, 443, 8080 or 8443; not an address inside a network.',
  examples: ['https://files.example.com/invoice.pdf'],
})

const caption = ruled(checkCaption).nullish().meta({
  maxLength: CAPTION_MAX_CHARACTERS,
  pattern: CAPTION_PATTERN,
  description: 'Text shown beneath the media. Empty, null or absent means none.',
})

const audioCaption = z.string().nullish().meta({ description: 'Accepted and ignored: audio has no caption.' })

// Refused when it has a value, because accepting it would silently lose that value.
const unused = z.literal([null, '']).optional().meta({ description: 'Not used with this type: leave it out.' })

export const mediaItem = z.object({ name: fileName, url: mediaUrl, caption })
export const audioItem = z.object({ name: fileName, url: mediaUrl, caption: audioCaption })

export const textMessage = z.object({ type: z.literal('message'), message: text, media: unused })
export const mediaMessage = z.object({
  type: z.enum(['image', 'document', 'video']),
  message: unused,
  media: mediaItem,
})
export const audioMessage = z.object({ type: z.literal('audio'), message: unused, media: audioItem })

/**
 * The body of a send request. Unknown fields are ignored.
 *
 * Every rule belongs to a field, none to the whole object: zod skips the rules of an object as soon as one of its fields
 * is wrong, and all errors of a request must be reported together.
 */
export const sendMessageRequest = z.object({
  from: senderNumber,
  to: recipientNumber,
  message: z.discriminatedUnion('type', [textMessage, mediaMessage, audioMessage]),
})
export type SendMessageRequest = z.infer<typeof sendMessageRequest>

export const MESSAGE_TYPE_NAMES = ['message', 'image', 'document', 'video', 'audio'] as const

/** Checks a request body that has been read as JSON. Takes about half a microsecond for a good one. */
export function parseSendMessage(body: unknown): ParsedSendMessage {
  const parsed = sendMessageRequest.safeParse(body, { reportInput: true })
  if (parsed.success) return { ok: true, request: parsed.data }
  return { ok: false, errors: parsed.error.issues.map(toFieldError) }
}

/** The parameters of our own rules in zod's issues. */
type RuleParams = Pick<Finding, 'code'>

function ruled(check: (value: string) => Finding | null) {
  return z.string().check((context) => {
    const finding = check(context.value)
    if (!finding) return
    const { code, message } = finding
    context.issues.push({ code: 'custom', input: context.value, message, params: { code } satisfies RuleParams })
  })
}

function toFieldError(issue: z.core.$ZodIssue): FieldError {
  const field = issue.path.length === 0 ? null : issue.path.join('.')
  return { field, ...toFinding(issue, field) }
}

function toFinding(issue: z.core.$ZodIssue, field: string | null): Finding {
  switch (issue.code) {
    case 'custom':
      return { ...(issue.params as RuleParams), message: issue.message }
    case 'invalid_type':
      return wrongType(issue.expected, issue.input, field)
    // Apart from the discriminator, only an unused field has literal values.
    case 'invalid_value':
      return {
        code: 'field_unused',
        message:
          'This field is not used with this `message.type`. Leave it out, or choose the type that it belongs to.',
      }
    case 'invalid_union':
      return unknownType(issue.input)
    default:
      return { code: 'field_wrong_type', message: 'This field has the wrong type.' }
  }
}

function wrongType(expected: string, given: unknown, field: string | null): Finding {
  const wanted = expected === 'object' ? 'an object' : 'a string'
  if (field === null)
    return { code: 'body_not_object', message: `The body must be a JSON object, not ${kindOf(given)}.` }
  if (given === undefined || given === null) {
    return { code: 'field_required', message: `This field is required. Send ${wanted}.` }
  }
  const inQuotes = typeof given === 'number' && wanted === 'a string' ? ' Put it in quotes.' : ''
  return { code: 'field_wrong_type', message: `This field must be ${wanted}, not ${kindOf(given)}.${inQuotes}` }
}

function unknownType(message: unknown): Finding {
  const given = typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined
  const oneOf = `one of ${MESSAGE_TYPE_NAMES.join(', ')}`
  if (given === undefined || given === null)
    return { code: 'field_required', message: `This field is required. Send ${oneOf}.` }
  if (typeof given !== 'string') {
    return { code: 'field_wrong_type', message: `This field must be a string, not ${kindOf(given)}. Send ${oneOf}.` }
  }
  return { code: 'type_unknown', message: `There is no such type. Send ${oneOf}.` }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
