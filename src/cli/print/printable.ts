/**
 * Text from outside, fit for a terminal: a control character could move the cursor or change the title, and a bidi
 * override could make a line read as another one.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, (character) => {
    if (character === '\n') return '⏎'
    if (character === '\t') return ' '
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
  })
}

/** At most this many characters, the cut shown. */
export function shorten(text: string, most: number): string {
  const characters = Array.from(text)
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}
