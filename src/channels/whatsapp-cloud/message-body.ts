import type { MediaContent, MessageContent } from '../../core/message/message.ts'
import type { TemplateFit } from './templates.ts'

/** Most characters of a text and of a caption (Meta's pages “Text messages” and “Image messages”). */
export const MOST_TEXT = 4_096
export const MOST_CAPTION = 1_024

interface BodyParts {
  /** Digits with country code. */
  readonly to: string
  readonly content: MessageContent
  /** Meta's id of the uploaded attachment; null for text. */
  readonly uploadId: string | null
  readonly linkPreview: boolean
  /** Given back with every report (Meta's page “Status messages webhook”). */
  readonly opaque: string
  /** Null: in free form. */
  readonly template: Extract<TemplateFit, { readonly fits: true }> | null
}

/** The one request that sends (Meta's page “Send messages”). */
export function bodyOf(parts: BodyParts): Readonly<Record<string, unknown>> {
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    // Without the + Meta would put the sender's own country code before it, and the message would go to another person.
    to: `+${parts.to}`,
    biz_opaque_callback_data: parts.opaque,
    ...(parts.template ? templateBody(parts, parts.template) : freeBody(parts)),
  }
}

function freeBody({ content, uploadId, linkPreview }: BodyParts) {
  if (content.type === 'message') return { type: 'text', text: { body: content.text, preview_url: linkPreview } }
  return { type: content.type, [content.type]: fileOf(content, uploadId, content.caption) }
}

/** Sounds have neither caption nor name, and only documents have a name. */
function fileOf(content: MediaContent, uploadId: string | null, caption: string | null) {
  return {
    id: uploadId,
    ...(caption !== null && content.type !== 'audio' && { caption }),
    ...(content.type === 'document' && { filename: content.name }),
  }
}

function templateBody({ content, uploadId }: BodyParts, { template, variable }: NonNullable<BodyParts['template']>) {
  const header =
    content.type === 'message'
      ? []
      : [
          {
            type: 'header',
            parameters: [{ type: content.type, [content.type]: fileOf(content, uploadId, null) }],
          },
        ]
  const body = variable === null ? [] : [{ type: 'body', parameters: [{ type: 'text', text: variable }] }]
  const components = [...header, ...body]
  return {
    type: 'template',
    template: {
      name: template.name,
      language: { code: template.language },
      ...(components.length > 0 && { components }),
    },
  }
}

/** Null when its texts are within Meta's limits; otherwise why not. */
export function whyTooLong(content: MessageContent): string | null {
  const [text, most, what] =
    content.type === 'message'
      ? [content.text, MOST_TEXT, 'a text']
      : [content.caption ?? '', MOST_CAPTION, 'a caption']
  const length = Array.from(text).length
  return length <= most ? null : `WhatsApp takes ${what} of at most ${most} characters; this one has ${length}.`
}
