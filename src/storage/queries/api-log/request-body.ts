import { sql } from 'kysely'
import type { Sequence } from '../../../core/message/message.ts'
import type { LogFilter } from '../../../core/ports/console/api-log.ts'
import type { Reader } from '../engine.ts'
import type { LongTable } from '../overview/lower-bound-by-time.ts'

const PREVIEW_CHARACTERS = 40
// A body may have 64 KiB and a list has hundreds of rows. Nearly every beginning of this length shows what a list needs.
const START_CHARACTERS = 1_024

/** The text to search for in contents of messages. Null: none, or a viewer searches, who must not see contents. */
export function textInBodies({ text, isMasked }: Pick<LogFilter, 'text' | 'isMasked'>): string | null {
  return isMasked ? null : text
}

/** The beginning of a body. */
export function startOf(body: 'm.body' | 'r.body') {
  return sql<string | null>`substr(${sql.ref(body)}, 1, ${sql.lit(START_CHARACTERS)})`
}

interface WithBody {
  readonly sequence: Sequence
  readonly body: string | null
}

/** Rows with the beginnings of their bodies. Where such a beginning does not show enough, it is replaced by the whole body. */
export async function completeBodies<Row extends WithBody>(
  tables: Reader,
  table: LongTable,
  { rows, isEnough }: { readonly rows: readonly Row[]; readonly isEnough: (start: string) => boolean },
): Promise<readonly Row[]> {
  const isShort = ({ body }: Row) => body !== null && body.length >= START_CHARACTERS && !isEnough(body)
  const sequences = rows.filter(isShort).map(({ sequence }) => sequence)
  if (sequences.length === 0) return rows
  const found = await tables.selectFrom(table).select(['sequence', 'body']).where('sequence', 'in', sequences).execute()
  const bodies = new Map(found.map(({ sequence, body }) => [sequence, body]))
  return rows.map((row) => ({ ...row, body: bodies.get(row.sequence) ?? row.body }))
}

/** What a request is to send: its text or caption, and the name of its file. Null: there is neither to read. */
export function contentOf(body: string | null) {
  const message = fieldOf(parse(body), 'message')
  const media = fieldOf(message, 'media')
  const text = textAt(message, 'message') ?? textAt(media, 'caption')
  const fileName = textAt(media, 'name')
  return text === null && fileName === null ? null : { text, fileName }
}

/** Whether its text, its caption or the name of its file contains this, ignoring case and white space. */
export function contentHolds(body: string | null, sought: string): boolean {
  const plain = (text: string) => text.toLowerCase().replace(/\s+/g, ' ')
  const content = contentOf(body)
  return [content?.text, content?.fileName].some((part) => plain(part ?? '').includes(plain(sought)))
}

/** Its beginning, in one line. */
export function previewOf(body: string | null): string | null {
  const content = contentOf(body)
  const line = [content?.fileName, content?.text]
    .map((part) => (part ?? '').slice(0, PREVIEW_CHARACTERS * 4).trim())
    .filter((part) => part !== '')
    .join(' · ')
    .replace(/\s+/g, ' ')
  const characters = [...line]
  if (characters.length <= PREVIEW_CHARACTERS) return line === '' ? null : line
  return `${characters.slice(0, PREVIEW_CHARACTERS).join('').trimEnd()}…`
}

/** Whether the beginning of a body shows as much of its content as the whole body would. */
export function isPreviewFull(start: string): boolean {
  return (previewOf(start) ?? '').endsWith('…')
}

/** The fields of a refused body, as far as it can be read. */
export function readFields(body: string | null) {
  const value = parse(body)
  return { from: textAt(value, 'from'), to: textAt(value, 'to'), type: textAt(fieldOf(value, 'message'), 'type') }
}

/** A caller may send anything, a list has only the beginning of a long body, and a deleted body is an empty text. */
function parse(body: string | null): unknown {
  const text = body ?? 'null'
  const mayBeCut = text.length >= START_CHARACTERS && text.length <= 2 * START_CHARACTERS
  try {
    // To parse what was cut off and fail takes longer than to complete it first.
    return JSON.parse(mayBeCut ? completed(text) : text)
  } catch {
    return null
  }
}

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}[\],:]|[^\s"{}[\],:]+/gs

/** JSON that may have lost its end: without what was cut in two, but for a text. */
function completed(text: string): string {
  const closing: string[] = []
  let end = 0
  let missing = ''
  let isValue = false
  for (const { 0: token, 1: quote, index } of text.matchAll(TOKENS)) {
    if (token === '{' || token === '[') closing.push(token === '{' ? '}' : ']')
    if (token === '}' || token === ']') closing.pop()
    if (quote === undefined ? /^[{}[\]]$/.test(token) : isValue) {
      missing = quote === '' ? '"' : ''
      end = index + token.length
      if (missing) end -= /\\u[\da-f]{0,3}$/i.exec(token)?.[0].length ?? 0
    }
    isValue = token === ':'
  }
  return text.slice(0, end) + missing + closing.reverse().join('')
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
