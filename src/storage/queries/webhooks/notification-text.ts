/**
 * A notice's data as it is kept. PostgreSQL takes no U+0000 in a text that is JSON, and whoever is told needs none. It is
 * taken out of each value and not out of the text: there the same letters may be those of a backslash that was written.
 */
export function noticeText(data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(data, (_, value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '') : value))
}
