import { ERASED } from './message/erased.ts'

/** Of what a next step speaks. What is left out stays as it is printed in the table. */
export interface RemedyOf {
  readonly number: string
  readonly recipient?: string
  readonly messageId?: string
}

/** A next step of the table of reasons, with the numbers and the id that it speaks of, so that it can be pasted. */
export function renderRemedy(words: string, { number, recipient, messageId }: RemedyOf): string {
  // An erased recipient is known to the person alone who blocked them.
  const known = recipient === ERASED ? 'NUMBER' : recipient
  return words
    .replace('NUMBER', number)
    .replace('RECIPIENT', known ?? 'RECIPIENT')
    .replace(/\bID\b/, messageId ?? 'ID')
}
