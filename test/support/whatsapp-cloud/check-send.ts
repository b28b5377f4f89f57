import { digitsOf } from './call-faults.ts'
import { checkTemplate } from './check-template.ts'
import { GraphError, invalid, required, wrong } from './graph-error.ts'
import { kindOfMime, type MediaKind } from './media-store.ts'
import type { SentMedia, SentMessage, SimulatedTemplate, Upload } from './simulator-types.ts'

export type Json = Readonly<Record<string, unknown>>

/** What the checks need to know about the network. */
export interface Surroundings {
  /** Finds an upload of the sending number that has not expired. */
  findUpload(id: string): Upload | null
  /** Finds all translations of a template of the number's business account. */
  findTemplates(name: string): readonly SimulatedTemplate[]
}

export type CheckedMessage = Pick<SentMessage, 'to' | 'waId' | 'type' | 'text' | 'media' | 'opaque'>

const HEAD = ['messaging_product', 'recipient_type', 'to', 'type', 'biz_opaque_callback_data', 'context']
const MEDIA_FIELDS = {
  image: ['id', 'link', 'caption'],
  document: ['id', 'link', 'caption', 'filename'],
  video: ['id', 'link', 'caption'],
  audio: ['id', 'link', 'voice'],
} as const
const LONGEST_TEXT = 4_096
const LONGEST_CAPTION = 1_024
const LONGEST_OPAQUE = 512

/** Refuses what the published pages do not allow. Also refuses unknown fields: the real network silently drops a mistyped one. */
export function checkSend(body: Json, around: Surroundings): CheckedMessage {
  if (body['messaging_product'] !== 'whatsapp') throw required('messaging_product')
  if (body['recipient_type'] !== undefined && body['recipient_type'] !== 'individual') {
    throw invalid("Param recipient_type must be one of {'individual'}.")
  }
  const { to, waId } = checkRecipient(body['to'])
  const opaque = checkOpaque(body['biz_opaque_callback_data'])
  checkContext(body['context'])
  const type = body['type'] ?? 'text'
  if (type !== 'text' && type !== 'template' && !isMediaType(type)) {
    throw new GraphError(131051, { details: `Message type ${JSON.stringify(type)} is not supported.` })
  }
  allowOnly(body, [...HEAD, type], '')
  const part = asObject(body[type], type)
  const head = { to, waId, opaque, type } as const
  if (type === 'text') return { ...head, text: checkText(part), media: null }
  if (type === 'template') return { ...head, ...checkTemplate(part, around) }
  const media = checkMedia(type, part, around)
  return { ...head, text: checkCaption(type, part['caption']), media }
}

function isMediaType(type: unknown): type is keyof typeof MEDIA_FIELDS {
  return typeof type === 'string' && type in MEDIA_FIELDS
}

function checkRecipient(to: unknown) {
  if (to === undefined || to === '') throw required('to')
  if (typeof to !== 'string') throw invalid('Param to must be a string.')
  // Without + the network puts the sender's country code in front, and the message goes to another person.
  if (!to.startsWith('+')) throw wrong('Param to must begin with + and the country code.')
  const waId = digitsOf(to)
  if (!/^\+[\d\s()+-]+$/.test(to) || !/^[1-9]\d{6,14}$/.test(waId)) throw wrong('Param to is not a valid phone number.')
  return { to, waId }
}

function checkOpaque(opaque: unknown): string | null {
  if (opaque === undefined) return null
  if (typeof opaque !== 'string') throw invalid('Param biz_opaque_callback_data must be a string.')
  if (Array.from(opaque).length > LONGEST_OPAQUE) {
    throw invalid(`Param biz_opaque_callback_data must be at most ${LONGEST_OPAQUE} characters long.`)
  }
  return opaque
}

function checkContext(context: unknown): void {
  if (context === undefined) return
  if (typeof asObject(context, 'context')['message_id'] !== 'string') throw required("context['message_id']")
}

function checkText(text: Json): string {
  allowOnly(text, ['body', 'preview_url'], 'text')
  if (text['preview_url'] !== undefined && typeof text['preview_url'] !== 'boolean') {
    throw invalid("Param text['preview_url'] must be a boolean.")
  }
  return asString(text['body'], "text['body']", LONGEST_TEXT)
}

function checkCaption(type: MediaKind | 'audio', caption: unknown): string | null {
  return caption === undefined ? null : asString(caption, `${type}['caption']`, LONGEST_CAPTION)
}

function checkMedia(type: keyof typeof MEDIA_FIELDS, part: Json, around: Surroundings): SentMedia {
  allowOnly(part, MEDIA_FIELDS[type], type)
  const isVoice = part['voice'] ?? false
  if (typeof isVoice !== 'boolean') throw invalid(`Param ${type}['voice'] must be a boolean.`)
  return { ...checkFile(type, part, { around, name: type }), isVoice }
}

/** Checks a file given by id or by link, in a message or in a template's header. */
export function checkFile(
  type: 'image' | 'document' | 'video' | 'audio',
  part: Json,
  { around, name }: { around: Surroundings; name: string },
): Omit<SentMedia, 'isVoice'> {
  const { id, link } = part
  if ((id === undefined) === (link === undefined)) {
    throw new GraphError(id === undefined ? 131008 : 131009, {
      details: `Exactly one of ${name}['id'] and ${name}['link'] must be given.`,
    })
  }
  const filename =
    part['filename'] === undefined ? null : asString(part['filename'], `${name}['filename']`, Number.POSITIVE_INFINITY)
  if (link !== undefined) {
    if (typeof link !== 'string' || !/^https?:\/\/\S+$/.test(link))
      throw invalid(`Param ${name}['link'] is not a valid URI.`)
    return { upload: null, link, filename }
  }
  const upload = typeof id === 'string' ? around.findUpload(id) : null
  if (!upload) throw invalid(`Param ${name}['id'] is not a valid whatsapp business account media attachment ID`)
  if (kindOfMime(upload.mime) !== type && type !== 'document') {
    throw new GraphError(131053, { details: `A file of type ${upload.mime} cannot be sent as ${type}.` })
  }
  return { upload, link: null, filename }
}

export function allowOnly(part: Json, names: readonly string[], where: string): void {
  const unknown = Object.keys(part).find((name) => !names.includes(name))
  if (unknown === undefined) return
  throw invalid(`Unexpected key "${unknown}" on param "${where || 'body'}".`)
}

export function asObject(value: unknown, name: string): Json {
  if (value === undefined) throw new GraphError(131008, { details: `Required parameter ${name} is missing.` })
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(`Param ${name} must be a JSON object.`)
  return value as Json
}

export function asString(value: unknown, name: string, longest: number): string {
  if (value === undefined || value === '') throw required(name)
  if (typeof value !== 'string') throw invalid(`Param ${name} must be a string.`)
  // Meta does not define a character. Code points are what our own contract counts.
  if (Array.from(value).length > longest) throw invalid(`Param ${name} must be at most ${longest} characters long.`)
  return value
}
