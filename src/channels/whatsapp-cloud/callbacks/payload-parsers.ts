import type { Instant } from '../../../core/ids.ts'

/** A JSON object with untrusted content; null for everything else. */
export function objectOf(given: unknown): Readonly<Record<string, unknown>> | null {
  return typeof given === 'object' && given !== null && !Array.isArray(given)
    ? (given as Readonly<Record<string, unknown>>)
    : null
}

/** Empty for what is no list. */
export function listOf(given: unknown): readonly unknown[] {
  return Array.isArray(given) ? given : []
}

/** A short text of visible ASCII characters, as all ids and words of Meta's are; null for everything else. */
export function textOf(given: unknown, mostCharacters: number): string | null {
  const isText = typeof given === 'string' && given.length > 0 && given.length <= mostCharacters
  return isText && /^[\x20-\x7e]+$/.test(given) ? given : null
}

/** The digits of a number at WhatsApp; null for everything else, such as the ids of people who hide theirs. */
export function numberOf(given: unknown): string | null {
  return typeof given === 'string' && /^[1-9][0-9]{5,14}$/.test(given) ? given : null
}

/** A time in seconds since 1970, as text or number; null for what is none. The caller checks whether it is plausible. */
export function instantOf(given: unknown): Instant | null {
  const text = typeof given === 'number' ? String(given) : given
  return typeof text === 'string' && /^[1-9][0-9]{0,10}$/.test(text) ? Number(text) * 1000 : null
}

/** A whole number that can be an error code; null for everything else. */
export function codeOf(given: unknown): number | null {
  return typeof given === 'number' && Number.isSafeInteger(given) && given >= 0 && given < 1e9 ? given : null
}
