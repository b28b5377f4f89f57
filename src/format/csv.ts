// A spreadsheet reads such text as a formula, and formulas can send other cells to any server. Also after blanks, and in
// full-width forms; a spreadsheet may drop a control character first.
const FORMULA = /^[\s\p{Cc}\p{Cf}]*[=+\-@＝＋－＠|%]/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are removed, except line breaks, which quotes keep.
const CONTROLS = /[\u0000-\u0009\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029]/g
const BEGINS_WITH_CONTROL = /^[\p{Cc}\p{Cf}]/u

/** A line by RFC 4180, without the line break. What a spreadsheet would take for a formula begins with a quote mark. */
export function csvLine(values: readonly (string | number | null)[]): string {
  return values.map(csvField).join()
}

function csvField(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = withoutFormula(value)
  return /[",\r\n]/.test(text) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
}

function withoutFormula(text: string): string {
  const isFormula = FORMULA.test(text) || BEGINS_WITH_CONTROL.test(text)
  const plain = text.replace(CONTROLS, ' ')
  return isFormula ? `'${plain}` : plain
}
