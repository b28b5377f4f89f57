import type { RequestError } from '../../../core/ports/administration.ts'

// A viewer learns what became of messages, not who they went to and what they said.

export const HIDDEN = '•••'
const SHOWN_AT_START = 4
const SHOWN_AT_END = 4
const FEWEST_HIDDEN = 3
// As numbers are written by people and by networks; shorter ones are codes.
const NUMBER = /\+?\d(?:[ ().-]{0,2}\d){6,}/g
const NUMBER_LIKE = /^[+\d\s().-]+$/

/** `15550100001` becomes `1555•••0001`. At least three digits are hidden. */
export function maskNumber(number: string): string {
  if (!NUMBER_LIKE.test(number)) return HIDDEN
  const digits = number.replace(/\D/g, '')
  const shown = Math.max(0, digits.length - FEWEST_HIDDEN)
  const atEnd = Math.min(SHOWN_AT_END, shown)
  const atStart = Math.min(SHOWN_AT_START, shown - atEnd)
  return `${digits.slice(0, atStart)}${HIDDEN}${digits.slice(digits.length - atEnd)}`
}

/** Words of a network or of ours, which may name a number. */
export function maskWords(words: string): string {
  return words.replace(NUMBER, maskNumber)
}

export function maskErrors(errors: readonly RequestError[]): readonly RequestError[] {
  return errors.map((error) => ({ ...error, message: maskWords(error.message) }))
}

/** Keeps the host: whose server it is, is no secret, but paths and file names tell what was sent. */
export function maskUrl(url: string): string {
  const known = URL.canParse(url) ? new URL(url) : null
  return known ? `${known.protocol}//${known.host}/${HIDDEN}` : HIDDEN
}

export function maskFileName(name: string): string {
  const extension = /\.[a-z0-9]{1,8}$/i.exec(name)
  return `${HIDDEN}${extension?.[0] ?? ''}`
}

/** What a caller sent. Names of fields, the sender and the type stay; what is no JSON is hidden as a whole. */
export function maskBody(body: string): string {
  try {
    return JSON.stringify(hide(JSON.parse(body), ''), null, 2)
  } catch {
    return HIDDEN
  }
}

function hide(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => hide(item, ''))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [maskWords(key), hide(inner, key)]))
  }
  if (typeof value === 'string') return hideText(value, name)
  return typeof value === 'number' ? HIDDEN : value
}

function hideText(text: string, name: string): string {
  if (name === 'to') return maskNumber(text)
  if (name === 'from' && /^\d{7,15}$/.test(text)) return text
  if (name === 'type' && /^[a-z]{1,20}$/.test(text)) return text
  return text === '' ? text : HIDDEN
}
