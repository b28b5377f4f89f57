import { plainNumber } from '../../../src/contract/field-rules.ts'
import { parseSendMessage } from '../../../src/contract/send-message.ts'
import type { Json } from './snippets.ts'

export const TYPES = [
  { value: 'message', label: 'Text' },
  { value: 'image', label: 'Image' },
  { value: 'document', label: 'Document' },
  { value: 'video', label: 'Video' },
  { value: 'audio', label: 'Audio' },
] as const
export type MessageKind = (typeof TYPES)[number]['value']

export interface Draft {
  readonly from: string
  readonly to: string
  readonly text: string
  readonly url: string
  readonly name: string
  readonly caption: string
}

export const FIRST_DRAFT: Omit<Draft, 'from'> = {
  // From a range that is not assigned; the sandbox treats it as an ordinary recipient.
  to: '15551234567',
  text: 'Hello from Nuncio',
  url: '',
  name: '',
  caption: '',
}

type Wanted = readonly (string | null | undefined)[]

/** The first of the wanted numbers that is a sender, else the first sender. */
export function senderOf(senders: readonly { readonly number: string }[], wanted: Wanted): string {
  const numbers = senders.map(({ number }) => number)
  return wanted.find((one) => one && numbers.includes(one)) ?? numbers[0] ?? ''
}

/** The body of the call. Audio has no caption, and an empty caption is left out. */
export function bodyOf(type: MessageKind, { from, text, url, name, caption, ...draft }: Draft): Json {
  const to = plainNumber(draft.to)
  if (type === 'message') return { from, to, message: { type, message: text } }
  const hasCaption = type !== 'audio' && caption !== ''
  return { from, to, message: { type, media: { name, url, ...(hasCaption ? { caption } : {}) } } }
}

const TOKEN_CHARACTERS = 42

/** Why no call is made with it; null: it may be a token. */
export function tokenFault(token: string | null): string | null {
  if (!token) return 'Paste a token that may send messages, or create one.'
  if (token.startsWith('nco_') && token.length < TOKEN_CHARACTERS)
    return 'This is only the beginning of a token. Paste all of it.'
  return null
}

/** What the endpoint would say of the body. Without a token it says nothing of it, so this is reported together with that. */
export function faultsOf(body: Json): readonly { readonly field: string | null; readonly message: string }[] {
  const parsed = parseSendMessage(body)
  return parsed.ok ? [] : parsed.errors
}
