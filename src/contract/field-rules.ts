import { codePointOf, hasVisible, INVISIBLE } from '../format/one-line.ts'

// The rules for fields of a request. Their messages go to the caller: they say what is wrong and how to fix it.

export const NUMBER_PATTERN = '^[1-9][0-9]{6,14}$'
/** Characters are code points, bytes those of UTF-8. */
export const TEXT_MAX_CHARACTERS = 4096
export const CAPTION_MAX_CHARACTERS = 1024
export const NAME_MAX_BYTES = 255
export const URL_MAX_CHARACTERS = 2048

/** The codes of core/refusals.ts for faults of fields. `http` checks at compile time that they exist there. */
export type FieldErrorCode =
  | 'body_not_object'
  | 'field_required'
  | 'field_wrong_type'
  | 'field_unused'
  | 'number_malformed'
  | 'type_unknown'
  | 'text_empty'
  | 'text_too_long'
  | 'text_has_control'
  | 'text_not_unicode'
  | 'name_malformed'
  | 'url_malformed'

/** A fault of a field. Each check below returns null if there is none. */
export interface Finding {
  readonly code: FieldErrorCode
  readonly message: string
}

const NUMBER = new RegExp(NUMBER_PATTERN)
const NOT_WHITE = /\S/
// Every character of Unicode's class Cc but tab, line feed and carriage return.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/
// Everything that could make a name show as another name or leave its folder: separators, any control character, the
// line and paragraph separators, and the characters that override or embed a writing direction.
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const UNFIT_FOR_NAME = /[/\\\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const WEB_ADDRESS = /^https?:\/\//i

// The same rules as patterns for the OpenAPI document. The field's description says what a pattern cannot: bytes, and lone
// surrogates.
const CONTROLS = CONTROL.source.slice(1, -1)
const UNFIT = UNFIT_FOR_NAME.source.slice(1, -1)
const WORDS = `[^${CONTROLS}]*[^${INVISIBLE}][^${CONTROLS}]*`
/** What a JSON Schema can say of these rules. The checks below say more. */
export const TEXT_PATTERN = `^${WORDS}$`
export const CAPTION_PATTERN = `^(?:${WORDS})?$`
export const NAME_PATTERN = `^[^${UNFIT}]*[^.\\s${UNFIT}][^.${UNFIT}]*\\.[^.\\s${UNFIT}]+$`
export const URL_PATTERN = '^[Hh][Tt][Tt][Pp][Ss]?://'

export function checkNumber(text: string): Finding | null {
  if (NUMBER.test(text)) return null
  const corrected = correctedNumber(text)
  // Pasted along with the number. It is invisible, or resembles a digit, so it is named.
  const [pasted] = /(?!\s)[^\x20-\x7e\u2010-\u2015]|\ufeff/u.exec(text) ?? []
  const named = pasted === undefined ? '' : `This number holds the character ${codePointOf(pasted)}. `
  return {
    code: 'number_malformed',
    message: corrected
      ? `${named}Write this number as ${corrected}: country code and digits only, without \`+\`, spaces or dashes.`
      : 'A number is its country code and digits only: 7 to 15 digits, no leading zero, no `+`, spaces or dashes. Example: 14155550100.',
  }
}

/** The number as the endpoint takes it, however a person writes it; text that is no number stays as it is. */
export function plainNumber(text: string): string {
  return correctedNumber(text) ?? text
}

/** The corrected number if it is unambiguous, or null. */
function correctedNumber(text: string): string | null {
  // Longer than any formatted number.
  if (text.length > 40) return null
  const digits = text
    // Full-width digits become plain ones; invisible characters are left out.
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .trim()
    .replace(/^(\+|00)/, '')
    // `+44 (0)20 …`: the zero in brackets is dialled only inside the country.
    .replace('(0)', '')
    .replace(/[\s().\-\u2010-\u2015/]/g, '')
  return NUMBER.test(digits) ? digits : null
}

export function checkText(text: string): Finding | null {
  return checkWords(text, TEXT_MAX_CHARACTERS, 'Write what the recipient shall read.')
}

/** An empty caption means none, so it is fine. */
export function checkCaption(text: string): Finding | null {
  return text === '' ? null : checkWords(text, CAPTION_MAX_CHARACTERS, 'For no caption leave the field out.')
}

function checkWords(text: string, maxCharacters: number, whenEmpty: string): Finding | null {
  if (!hasVisible(text)) return { code: 'text_empty', message: `The text has no visible character. ${whenEmpty}` }
  // A text has at least as many UTF-16 units as characters, so most need no counting.
  if (text.length > maxCharacters) {
    const characters = countCharacters(text)
    if (characters > maxCharacters) {
      return {
        code: 'text_too_long',
        message: `The text has ${characters} characters; at most ${maxCharacters} are allowed. Shorten it or send it in parts.`,
      }
    }
  }
  const control = CONTROL.exec(text)
  if (control) {
    return {
      code: 'text_has_control',
      message: `The text holds the control character ${codePointOf(control[0])}. Only tab and line breaks are allowed: take it out.`,
    }
  }
  return checkUnicode(text)
}

function checkUnicode(text: string): Finding | null {
  if (text.isWellFormed()) return null
  return {
    code: 'text_not_unicode',
    message: 'The text holds half of a surrogate pair, which is no valid Unicode. Send the whole character.',
  }
}

export function checkName(name: string): Finding | null {
  if (name === '') return badName('is empty; give one with an extension')
  // A UTF-16 unit is at most 3 bytes, so short names need no counting.
  if (name.length * 3 > NAME_MAX_BYTES) {
    const bytes = countUtf8Bytes(name)
    if (bytes > NAME_MAX_BYTES) return badName(`has ${bytes} bytes; at most ${NAME_MAX_BYTES} are allowed`)
  }
  const unfit = UNFIT_FOR_NAME.exec(name)
  if (unfit) return badName(`holds ${nameOf(unfit[0])}, which is not allowed`)
  if (/\s$/.test(name)) return badName('ends with a blank; take it out')
  if (!hasExtension(name)) return badName('has no extension; end it with one, such as .jpg or .pdf')
  return checkUnicode(name)
}

/** True if a non-blank text is between the last two dots, and no blank after the last one. As one pattern it would be quadratic. */
function hasExtension(name: string): boolean {
  const lastDot = name.lastIndexOf('.')
  const stem = name.slice(0, Math.max(lastDot, 0))
  return NOT_WHITE.test(stem.slice(stem.lastIndexOf('.') + 1)) && /^\S+$/.test(name.slice(lastDot + 1))
}

function badName(what: string): Finding {
  return { code: 'name_malformed', message: `The file name ${what}. Example: photo.jpg.` }
}

/** Checks only the form. `http` checks whether the address may be fetched, because it knows the allowed ranges. */
export function checkUrlForm(url: string): Finding | null {
  if (url === '')
    return badUrl('The address of the file is empty. Give one, such as https://files.example.com/photo.jpg.')
  if (url.length > URL_MAX_CHARACTERS && countCharacters(url) > URL_MAX_CHARACTERS) {
    return badUrl(`The URL is longer than ${URL_MAX_CHARACTERS} characters.`)
  }
  if (!WEB_ADDRESS.test(url))
    return badUrl(
      'The URL must be absolute and start with http:// or https://. Example: https://files.example.com/photo.jpg.',
    )
  return null
}

function badUrl(message: string): Finding {
  return { code: 'url_malformed', message }
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function countUtf8Bytes(text: string): number {
  let bytes = 0
  for (const character of text) {
    const codePoint = character.codePointAt(0) ?? 0
    bytes += codePoint < 0x80 ? 1 : codePoint < 0x800 ? 2 : codePoint < 0x10000 ? 3 : 4
  }
  return bytes
}

function nameOf(character: string): string {
  return character === '/' ? 'a slash' : character === '\\' ? 'a backslash' : `the character ${codePointOf(character)}`
}
