import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Span } from './engine.ts'

/** Whether the value of a column is in one of these spans. */
export function within(column: string, spans: readonly Span[]): RawBuilder<SqlBool> {
  const inOne = spans.map(({ from, before }) => sql`(${sql.ref(column)} >= ${from} and ${sql.ref(column)} < ${before})`)
  return sql<SqlBool>`(${sql.join(inOne, sql` or `)})`
}
