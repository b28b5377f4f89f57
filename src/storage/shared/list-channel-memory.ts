import type { Kysely } from 'kysely'
import type { AccountId, Instant } from '../../core/ids.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Tables } from './tables.ts'

export interface RememberedEntry {
  /** The number of the connection, removed ones too. */
  readonly connection: string
  readonly key: string
  /** Text as the channel wrote it. */
  readonly value: string
  readonly at: Instant
}

export interface WantedMemory {
  readonly kind: string
  readonly accountId: AccountId | null
  readonly number: string | null
}

const PAGE = 1_000

/** What a channel remembers of one kind (`sandbox.inbox`), oldest first. Streams in pages, so that millions fit. */
export async function* listChannelMemory(
  database: Kysely<Tables>,
  wanted: WantedMemory,
): AsyncIterable<RememberedEntry> {
  if (wanted.number !== null) await refuseUnknown(database, wanted.number)
  let after = 0
  for (;;) {
    let query = database
      .selectFrom('channel_memory as r')
      .innerJoin('connection as c', 'c.id', 'r.connection_id')
      .select(['r.position', 'c.number as connection', 'r.key', 'r.value', 'r.at'])
      .where('r.kind', '=', wanted.kind)
      .where('r.position', '>', after)
      .orderBy('r.position')
      .limit(PAGE)
    if (wanted.accountId !== null) query = query.where('c.account_id', '=', wanted.accountId)
    if (wanted.number !== null) query = query.where('c.number', '=', wanted.number)
    const rows = await query.execute()
    for (const { position: _, ...entry } of rows) yield entry
    const last = rows.at(-1)
    if (!last || rows.length < PAGE) return
    after = last.position
  }
}

/** A mistyped number must not look like one that has sent nothing. */
async function refuseUnknown(database: Kysely<Tables>, number: string): Promise<void> {
  const row = await database.selectFrom('connection').select('id').where('number', '=', number).executeTakeFirst()
  if (!row) throw new Refusal('connection_unknown', `There never was a connection with the number ${number}.`)
}
