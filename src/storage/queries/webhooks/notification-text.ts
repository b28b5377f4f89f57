/**
 * The stored form of a notification's data. PostgreSQL accepts no U+0000 in JSON, and receivers need none. It is removed
 * from each value and not from the text, where the same characters may belong to an escaped backslash.
 */
export function noticeText(data: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(data, (_, value: unknown) => (typeof value === 'string' ? value.replaceAll('\0', '') : value))
}
