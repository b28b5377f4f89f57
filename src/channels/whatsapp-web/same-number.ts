// Countries that put a digit between their code and a mobile number, or once did. WhatsApp knows some numbers without it.
const OPTIONAL_DIGIT: readonly RegExp[] = [/^(55\d\d)9(\d{8})$/, /^(52)1(\d{10})$/, /^(54)9(\d{10})$/]

/** Whether these are spellings of one number. */
export function isSameNumber(one: string, other: string): boolean {
  return shortest(one) === shortest(other)
}

function shortest(number: string): string {
  const pattern = OPTIONAL_DIGIT.find((each) => each.test(number))
  return pattern ? number.replace(pattern, '$1$2') : number
}
