import { type RawBuilder, type SqlBool, sql } from 'kysely'

/**
 * Whether a column contains a text, ignoring case. Some databases lower only the letters A to Z; there other letters must
 * match exactly.
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
