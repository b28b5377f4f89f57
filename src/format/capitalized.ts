/** At the start of a sentence: an article gets a capital, an address or a name stays as it is written. */
export function atStart(text: string): string {
  return text.startsWith('the ') ? capitalized(text) : text
}

/** The text with a capital letter at its beginning. */
export function capitalized(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`
}
