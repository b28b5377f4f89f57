import { sql } from 'kysely'
import type { Engine, Span } from '../shared/engine.ts'

const ALL: Span = { from: 0, before: Number.MAX_SAFE_INTEGER }

/** A change begins as the only writer there is, and each table is one. */
export const sqliteEngine: Engine = {
  async beginChange() {},
  async lockLane() {},
  async lockMessage() {},
  async lockLastWaiting() {},

  // A lane also keeps entries of messages that have come to their end, so the message itself is asked each time. The
  // first column must stay the entry's: a lane is found by it, and by nothing else.
  unfinishedOfC: sql`(
    select sequence from lane_entry where connection_id = c.id
    union
    select sequence from message where sequence > (select entered_through from lane_mark) and connection_id = c.id
  ) e join message q on q.sequence = e.sequence
  where q.state = 'QUEUED'`,

  spans: async () => [ALL],
  // Sequences have hardly any gaps, but for those that we step over.
  startOfStretch: async (_, { span, rows }) => Math.max(span.from, span.before - rows),
  async locate(tables, id) {
    const row = await tables.selectFrom('message').select('sequence').where('id', '=', id).executeTakeFirst()
    return row?.sequence ?? null
  },
  repeatsOf: () => [ALL],
  repeatedBy: () => [ALL],
}
