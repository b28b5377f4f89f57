const MOST_CHARACTERS = 40

/** What a request is to send: its text or caption, and the name of its file. Null: there is neither to read. */
export function contentOf(body: string | null) {
  const message = fieldOf(parse(body), 'message')
  const media = fieldOf(message, 'media')
  const text = textAt(message, 'message') ?? textAt(media, 'caption')
  const fileName = textAt(media, 'name')
  return text === null && fileName === null ? null : { text, fileName }
}

/** Its beginning, in one line. */
export function previewOf(body: string | null): string | null {
  const content = contentOf(body)
  const line = [content?.fileName, content?.text]
    .map((part) => (part ?? '').slice(0, MOST_CHARACTERS * 4).trim())
    .filter((part) => part !== '')
    .join(' · ')
    .replace(/\s+/g, ' ')
  const characters = [...line]
  if (characters.length <= MOST_CHARACTERS) return line === '' ? null : line
  return `${characters.slice(0, MOST_CHARACTERS).join('').trimEnd()}…`
}

/** The fields of a refused body, as far as it can be read. */
export function readFields(body: string | null) {
  const value = parse(body)
  return { from: textAt(value, 'from'), to: textAt(value, 'to'), type: textAt(fieldOf(value, 'message'), 'type') }
}

/** A caller may send anything, and a deleted body is an empty text. */
function parse(body: string | null): unknown {
  try {
    return JSON.parse(body ?? 'null')
  } catch {
    return null
  }
}

function textAt(value: unknown, name: string): string | null {
  const text = fieldOf(value, name)
  return typeof text === 'string' ? text : null
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : null
}
