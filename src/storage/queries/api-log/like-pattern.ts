import { type RawBuilder, type SqlBool, sql } from 'kysely'

/**
 * Whether a column holds a text, in any case of letters. Some databases know the small form of the letters from A to Z
 * alone: there all others are found as they are written.
 */
export function holds(column: string, text: string): RawBuilder<SqlBool> {
  const forms = new Set([text.toLowerCase(), text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())])
  const places = [...forms].map(
    (form) => sql<SqlBool>`lower(${sql.ref(column)}) like ${`%${escaped(form)}%`} escape '\\'`,
  )
  return sql<SqlBool>`(${sql.join(places, sql` or `)})`
}

export function beginsWith(column: string, text: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`${sql.ref(column)} like ${`${escaped(text)}%`} escape '\\'`
}

function escaped(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}
