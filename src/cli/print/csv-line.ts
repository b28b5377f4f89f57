/** By RFC 4180, without the line break. What a spreadsheet would take for a formula begins with a quote mark. */
export function csvLine(values: readonly (string | null)[]): string {
  return values.map((value) => quote(value ?? '')).join(',')
}

function quote(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
