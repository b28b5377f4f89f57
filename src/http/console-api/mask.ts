import { LOG_TYPES } from '../../contract/console/log.ts'
import type { Role } from '../../contract/console/route.ts'
import { type Masks, maskingOf, type Shape } from '../../contract/console/viewer-text.ts'

const HIDDEN = '•••'
const SHOWN_AT_START = 4
const SHOWN_AT_END = 4
const FEWEST_HIDDEN = 3
// Phone numbers as people and networks write them; shorter numbers are codes.
export const NUMBER = /\+?\d(?:[ ().-]{0,2}\d){6,}/g
const NUMBER_LIKE = /^[+\d\s().-]+$/
const KNOWN_FIELDS = new Set(['from', 'to', 'message', 'type', 'media', 'name', 'url', 'caption'])

const MASKS: Masks = {
  whole: (text) => text,
  number: maskNumber,
  words: maskText,
  url: maskUrl,
  'file-name': maskFileName,
  'message-type': maskType,
  body: maskBody,
}

const showToViewer = maskingOf(MASKS)

/** A value of a contract's shape as this role may see it. Every reply of the console passes through here, and exports too. */
export function showTo<Value>(role: Role, shape: Shape<Value>, value: Value): Value {
  return role === 'viewer' ? showToViewer(shape, value) : value
}

/** `15550100001` becomes `1555•••0001`. At least three digits are hidden. */
export function maskNumber(number: string): string {
  if (!NUMBER_LIKE.test(number)) return HIDDEN
  const digits = number.replace(/\D/g, '')
  const shown = Math.max(0, digits.length - FEWEST_HIDDEN)
  const atEnd = Math.min(SHOWN_AT_END, shown)
  const atStart = Math.min(SHOWN_AT_START, shown - atEnd)
  return `${digits.slice(0, atStart)}${HIDDEN}${digits.slice(digits.length - atEnd)}`
}

/** A text of a network or of ours that may contain a number. */
export function maskText(words: string): string {
  return words.replace(NUMBER, maskNumber)
}

/** Keeps the host, which is no secret. Paths and file names reveal what was sent. */
export function maskUrl(url: string): string {
  if (url === '') return url
  const known = URL.canParse(url) ? new URL(url) : null
  return known ? `${known.protocol}//${known.host}/${HIDDEN}` : HIDDEN
}

export function maskFileName(name: string): string {
  const extension = /\.[a-z0-9]{1,8}$/i.exec(name)
  return `${HIDDEN}${extension?.[0] ?? ''}`
}

function maskType(type: string): string {
  return LOG_TYPES.some((known) => known === type) ? type : HIDDEN
}

/** A caller's body. Names of known fields and the type stay; a body that is no JSON is hidden as a whole. */
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
    const entries = Object.entries(value).map(([key, inner]) => [
      KNOWN_FIELDS.has(key) ? key : HIDDEN,
      hide(inner, key),
    ])
    return Object.fromEntries(entries)
  }
  if (typeof value === 'string') return hideText(value, name)
  return typeof value === 'number' ? HIDDEN : value
}

function hideText(text: string, name: string): string {
  if (name === 'to' || name === 'from') return maskNumber(text)
  if (name === 'type') return maskType(text)
  return text === '' ? text : HIDDEN
}
