/**
 * Text from outside, fit for a terminal: a control character could move the cursor or change the title, and a bidi
 * override could make a line read as another one.
 */
export function printable(text: string): string {
  return escapeHidden(text.replaceAll('\n', '⏎').replaceAll('\t', ' '))
}

/** Lines with every character written out that a terminal would not show, as JSON writes it: JSON means the same after it. */
export function escapeHidden(lines: string): string {
  return lines.replace(/(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, unit) => `\\u${hex(character.charCodeAt(unit))}`).join(''),
  )
}

function hex(unit: number): string {
  return unit.toString(16).padStart(4, '0')
}

/** At most this many characters, the cut shown. */
export function shorten(text: string, most: number): string {
  const characters = Array.from(text)
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`
}
