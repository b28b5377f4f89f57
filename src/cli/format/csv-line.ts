// As in the exports of the console: also after blanks, and in full-width forms. A sheet may drop a control character
// before it checks.
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠|%]/u
const BEGINS_WITH_CONTROL = /^[\p{Cc}\p{Cf}]/u

/** By RFC 4180, without the line break. What a spreadsheet would take for a formula begins with a quote mark. */
export function csvLine(values: readonly (string | null)[]): string {
  return values.map((value) => quote(value ?? '')).join(',')
}

function quote(value: string): string {
  const safe = FORMULA.test(value) || BEGINS_WITH_CONTROL.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
