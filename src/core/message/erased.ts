import { spellingsOf } from '../number-spellings.ts'

/** Replaces the number of an erased recipient, and the network's id of a message to it. */
export const ERASED = 'erased'

/**
 * Replaces a body whose recipient was erased. It has the shape of a body, but nothing about the person.
 */
export function erasedBody({ from, type }: { readonly from: string; readonly type: string }): string {
  const message =
    type === 'message' ? { type, message: ERASED } : { type, media: { name: `${ERASED}.bin`, url: '', caption: '' } }
  return JSON.stringify({ from, to: ERASED, message })
}

/**
 * Finds a number in a text however it is written: with a plus, blanks, dots, dashes or brackets in it, but not as part
 * of a longer one. Also in the other spelling that a network may know it by.
 */
export function namesNumber(number: string): RegExp {
  const written = spellingsOf(number).map((each) => [...each].join('[\\s()./\\-\\u2010-\\u2015]*'))
  return new RegExp(`(?<!\\d)(?:00)?(?:${written.join('|')})(?!\\d)`, 'g')
}

/**
 * Whether a text names a number, also where its characters are escaped as in JSON, full-width, or have invisible ones
 * between them.
 */
export function mentionsNumber(text: string, number: string): boolean {
  const plain = text
    .replace(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
  return namesNumber(number).test(text) || namesNumber(number).test(plain)
}
