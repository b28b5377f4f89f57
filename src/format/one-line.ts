// Control characters, characters that change the direction of text, zero-width ones, and separators of lines.
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u

export interface OneLineRule {
  /** Such as `The name of an account`. */
  readonly what: string
  readonly most: number
  readonly mayBeEmpty?: boolean
}

/**
 * The fault of a one-line text that a person typed, such as a name or a reason. One rule for all of them, at the command
 * line and in the console. Null: none.
 */
export function findOneLineFault(text: string, { what, most, mayBeEmpty = false }: OneLineRule): string | null {
  if (text === '' && mayBeEmpty) return null
  if (!hasVisible(text)) return `${what} must not be empty.`
  if (Array.from(text).length > most) return `${what} has at most ${most} characters.`
  const hidden = HIDDEN.exec(text)
  if (hidden) return `${what} holds the invisible character ${codePointOf(hidden[0])}. Take it out.`
  return text.isWellFormed() ? null : `${what} holds half of a character. Type it again.`
}

// Blanks and invisible characters, in ranges of UTF-16; also used in the pattern of the OpenAPI document.
export const INVISIBLE =
  '\\s\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u2800\\u3164\\ufe00-\\ufe0f\\uffa0\\udc00-\\udfff\\udb40'
const VISIBLE = new RegExp(`[^${INVISIBLE}]`)

/** A text without a visible character counts as empty. */
export function hasVisible(text: string): boolean {
  return VISIBLE.test(text)
}

/** `U+200B` */
export function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
