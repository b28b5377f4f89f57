import { ERASED } from './message/erased.ts'

/** What a next step is about. The placeholder of a field that is left out stays as it is in the table. */
export interface RemedyOf {
  readonly number: string
  readonly recipient?: string
  readonly messageId?: string
}

/** A next step of the table of reasons, with the numbers and the id that it speaks of, so that it can be pasted. */
export function renderRemedy(words: string, { number, recipient, messageId }: RemedyOf): string {
  // Only the person who blocked an erased recipient knows the number.
  const known = recipient === ERASED ? 'NUMBER' : recipient
  return words
    .replace('NUMBER', number)
    .replace('RECIPIENT', known ?? 'RECIPIENT')
    .replace(/\bID\b/, messageId ?? 'ID')
}
