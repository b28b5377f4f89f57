// As people write phone numbers.
const NUMBER = /^\+?[\d\s()./-]+$/
// Fewer digits with a dot or a slash are rather a price or a part number.
const LEAST_WITH_SIGNS = 7
const DATE_OR_AMOUNT = /^(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./-]\d{1,2}[./-]\d{1,2}|\d+\.\d{1,2})$/
const MOST_DIGITS = 15

/**
 * The digits of a phone number, or of its beginning, however it is written: "+49 (0)170 1234", "0049-170-1234", "49170".
 * Null: it is something else, such as "12.50".
 */
export function digitsOfNumber(typed: string): string | null {
  const words = typed.trim()
  if (!NUMBER.test(words) || DATE_OR_AMOUNT.test(words)) return null
  const digits = words.replace('(0)', '').replaceAll(/\D/g, '').replace(/^00/, '')
  if (digits === '' || digits.length > MOST_DIGITS) return null
  const isPlain = words.startsWith('+') || !/[./]/.test(words)
  return isPlain || digits.length >= LEAST_WITH_SIGNS ? digits : null
}
