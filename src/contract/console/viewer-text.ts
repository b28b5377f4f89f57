import { z } from 'zod'

/**
 * How viewers get a text of a reply. They learn what became of messages, not who they went to and what they said.
 * The server masks every reply by these forms, in one place.
 */
export type ViewerForm = 'whole' | 'number' | 'words' | 'url' | 'file-name' | 'message-type' | 'body' | 'absent'

/** Every text of a reply that viewers get has one. */
export const viewerForms = z.registry<{ readonly form: ViewerForm }>()

function textAs(form: ViewerForm): z.ZodString {
  return z.string().register(viewerForms, { form })
}

/** Whole: a name, an id, or a text of Nuncio that quotes no message. */
export const plain = textAs('whole')
/** A number that may be a recipient's: the middle digits are hidden. */
export const maskedNumber = textAs('number')
/** What a network or a server said: numbers in it are masked. */
export const maskedWords = textAs('words')
/** Only scheme and host stay. */
export const maskedUrl = textAs('url')
/** Only the extension stays. */
export const maskedFileName = textAs('file-name')
/** A type that there is; anything else that a caller wrote is hidden. */
export const maskedType = textAs('message-type')
/** The body of a request: known fields stay, their texts are hidden. */
export const maskedBody = textAs('body')

/** Null for viewers. */
export function notForViewers<Schema extends z.ZodType>(schema: Schema): z.ZodNullable<Schema> {
  const nullable = schema.nullable()
  viewerForms.add(nullable, { form: 'absent' })
  return nullable
}
