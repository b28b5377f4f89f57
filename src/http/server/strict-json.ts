import { isUtf8 } from 'node:buffer'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'
import { readJsonExactly } from './exact-json.ts'
import { findSyntaxFault, placeInText } from './json-syntax.ts'

type JsonRefusalCode = Extract<
  RefusalCode,
  | 'body_not_utf8'
  | 'body_not_json'
  | 'body_too_deep'
  | 'key_repeated'
  | 'key_escaped'
  | 'text_not_unicode'
  | 'text_has_nul'
>

type StrictJson =
  | { readonly ok: true; readonly value: unknown; readonly text: string }
  | {
      readonly ok: false
      readonly code: JsonRefusalCode
      /** The path of the field, such as `message.media.url`; null for the whole body. */
      readonly field: string | null
      /** More exact than the table's sentence; null when there is nothing to add. */
      readonly detail: string | null
      /** Null when the body is no text. */
      readonly text: string | null
    }

export const MAX_JSON_DEPTH = 8

const SPACE = 0x20
const QUOTE = 0x22
const COLON = 0x3a
const BACKSLASH = 0x5c
const OPENING_BRACKET = 0x5b
const CLOSING_BRACKET = 0x5d
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d

/**
 * Parses a body and refuses everything that two parsers may read differently: invalid UTF-8, repeated keys, lone
 * surrogates, U+0000. Costs about twice a bare JSON.parse.
 */
export function parseStrictJson(bytes: Buffer): StrictJson {
  if (!isUtf8(bytes)) return { ok: false, code: 'body_not_utf8', field: null, detail: null, text: null }
  const text = bytes.toString('utf8')
  const mayEscape = text.includes('\\')
  const keysWritten = countKeysWritten(text, mayEscape)
  if (keysWritten === TOO_DEEP) return { ok: false, code: 'body_too_deep', field: null, detail: null, text }

  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, code: 'body_not_json', field: null, detail: whyNotJson(text), text }
  }

  // A repeated key was written twice and kept once.
  if (keysWritten === HAS_ESCAPED_KEY || keysWritten !== countKeysKept(value)) {
    const exact = readJsonExactly(text)
    if (!exact.ok) {
      const detail = `${REFUSALS[exact.code]} It stands at ${placeInText(text, exact.index)}.`
      return { ok: false, code: exact.code, field: exact.field, detail, text }
    }
    value = exact.value
  }
  // Valid UTF-8 holds no lone surrogates, and JSON no raw U+0000: only an escape can bring them in.
  if (mayEscape && text.includes('\\u')) {
    const flaw = findFlawedText(value)
    if (flaw) return { ok: false, code: flaw.code, field: flaw.field, detail: null, text }
  }
  return { ok: true, value, text }
}

const TOO_DEEP = -1
const HAS_ESCAPED_KEY = -2

/**
 * Counts the strings followed by a colon, which in valid JSON are its keys. In invalid JSON the count means nothing, but
 * JSON.parse refuses that anyway. The depth is checked here, before any recursion over the value.
 *
 * One pass: a key is checked at its closing quote, so no byte is read twice. The console parses bodies of requests
 * without a session with this.
 */
function countKeysWritten(text: string, mayEscape: boolean): number {
  let keys = 0
  let depth = 0
  let hasEscapedKey = false
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case QUOTE: {
        const end = endOfString(text, index)
        const next = endOfBlanks(text, end + 1)
        if (text.charCodeAt(next) === COLON) {
          keys += 1
          if (mayEscape && !hasEscapedKey) hasEscapedKey = text.slice(index, end).includes('\\')
        }
        index = next - 1
        break
      }
      case OPENING_BRACE:
      case OPENING_BRACKET:
        depth += 1
        if (depth > MAX_JSON_DEPTH) return TOO_DEEP
        break
      case CLOSING_BRACE:
      case CLOSING_BRACKET:
        depth -= 1
        break
    }
  }
  return hasEscapedKey ? HAS_ESCAPED_KEY : keys
}

/** The index of the quote that closes the string opened at `start`; the length of the text when there is none. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1
    // After an odd number of backslashes the quote belongs to the string.
    if (backslashes % 2 === 0) return end
  }
  return text.length
}

/** The index of the first character from `start` on that is no white space. JSON.parse refuses other control characters. */
function endOfBlanks(text: string, start: number): number {
  let end = start
  while (text.charCodeAt(end) <= SPACE) end += 1
  return end
}

function countKeysKept(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let keys = 0
  if (Array.isArray(value)) {
    for (const item of value) keys += countKeysKept(item)
    return keys
  }
  for (const item of Object.values(value)) keys += 1 + countKeysKept(item)
  return keys
}

/** Not the parser's message, which quotes the body: a refusal is kept longer than the body and shown to more people. */
function whyNotJson(text: string): string {
  if (text === '') return 'The body is empty. Send a JSON object.'
  if (text.startsWith('\ufeff')) return 'The body starts with a byte order mark. Send the JSON without it.'
  const fault = findSyntaxFault(text)
  const place = placeInText(text, fault)
  return fault < text.length
    ? `The body is not valid JSON: what stands at ${place} cannot stand there.`
    : `The body is not valid JSON: it ends too early, at ${place}.`
}

interface FlawedText {
  readonly code: 'text_not_unicode' | 'text_has_nul'
  readonly field: string | null
}

/**
 * The first string, key or value, that holds a lone surrogate or U+0000. Few requests come here, so it need not be fast;
 * the nesting is limited already.
 */
function findFlawedText(value: unknown, path = ''): FlawedText | null {
  if (typeof value === 'string') return checkText(value, path)
  if (typeof value !== 'object' || value === null) return null
  for (const [key, item] of Object.entries(value)) {
    // The path of a flawed key is that of its object.
    const flaw = checkText(key, path) ?? findFlawedText(item, path === '' ? key : `${path}.${key}`)
    if (flaw) return flaw
  }
  return null
}

function checkText(text: string, path: string): FlawedText | null {
  const field = path === '' ? null : path
  if (text.includes('\u0000')) return { code: 'text_has_nul', field }
  return text.isWellFormed() ? null : { code: 'text_not_unicode', field }
}
