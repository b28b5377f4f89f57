/**
 * Countries in which a mobile number has two spellings, and networks know people by either, whichever they are written to.
 * The longer one has a digit more, between the two groups.
 *
 * Benin (01 before all numbers since 2024) and Ivory Coast (01, 05 or 07 since 2021) have changed theirs, too; no network
 * says that it knows people by both.
 */
const COUNTRIES: readonly { readonly digit: string; readonly long: RegExp; readonly short: RegExp }[] = [
  // Brazil: the 9 before the eight digits of a mobile number, which begin with 6 to 9. WhatsApp leaves it out of many.
  { digit: '9', long: /^(55\d\d)9([6-9]\d{7})$/, short: /^(55\d\d)([6-9]\d{7})$/ },
  // Mexico: the 1 that was dialled from abroad until 2019. WhatsApp keeps it.
  { digit: '1', long: /^(52)1(\d{10})$/, short: /^(52)(\d{10})$/ },
  // Argentina: the 9 that is dialled from abroad. WhatsApp adds it.
  { digit: '9', long: /^(54)9(\d{10})$/, short: /^(54)(\d{10})$/ },
]

/** The number and, where there is one, its other spelling; the shorter one first. Digits alone. */
export function spellingsOf(number: string): readonly [string, ...string[]] {
  for (const { digit, long, short } of COUNTRIES) {
    const [, country = '', rest = ''] = long.exec(number) ?? short.exec(number) ?? []
    if (country !== '') return [country + rest, country + digit + rest]
  }
  return [number]
}

/** Whether two numbers, written in whichever way, are one. */
export function isSameNumber(one: string, other: string): boolean {
  const [first, second] = [one, other].map((number) => spellingsOf(number.replace(/\D/g, ''))[0])
  return first === second
}
