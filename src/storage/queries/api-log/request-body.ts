const MOST_CHARACTERS = 40

/** The beginning of what a request is to send: its text, or the name and caption of its file. Null: there is none to read. */
export function previewOf(body: string | null): string | null {
  const message = fieldOf(parse(body), 'message')
  const media = fieldOf(message, 'media')
  const parts = [fieldOf(message, 'message'), fieldOf(media, 'name'), fieldOf(media, 'caption')]
  const text = parts
    .filter((part) => typeof part === 'string')
    .map((part) => part.slice(0, MOST_CHARACTERS * 4).trim())
    .filter((part) => part !== '')
    .join(' · ')
    .replace(/\s+/g, ' ')
  const characters = [...text]
  if (characters.length <= MOST_CHARACTERS) return text === '' ? null : text
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
