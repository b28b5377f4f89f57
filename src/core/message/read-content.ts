import { MEDIA_TYPES, type MediaType, type MessageContent } from './message.ts'

interface AcceptedBody {
  readonly message: {
    readonly type: string
    readonly message?: string
    readonly media?: { readonly name: string; readonly url: string; readonly caption?: string | null }
  }
}

/** The content of a request body that was accepted once. What was checked then is not checked again. */
export function readContent(body: string): MessageContent {
  const { message } = JSON.parse(body) as AcceptedBody
  if (isMediaType(message.type) && message.media) {
    const { name, url, caption } = message.media
    return { type: message.type, name, url, caption: message.type === 'audio' ? null : caption || null }
  }
  return { type: 'message', text: message.message ?? '' }
}

export function isMediaType(type: string): type is MediaType {
  return (MEDIA_TYPES as readonly string[]).includes(type)
}
