import type { Kysely } from 'kysely'
import type { AccountId, Instant } from '../../../core/ids.ts'
import type { ChannelState } from '../../../core/ports/channel-state.ts'
import { Refusal } from '../../../core/refusals.ts'
import { pages } from '../pages.ts'
import type { Tables } from '../tables.generated.ts'

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
  /** Only so many, the newest. */
  readonly limit: number | null
}

const PAGE = 1_000

/** What a channel remembers, for a command that only reads it. */
export function createReadableState(database: Kysely<Tables>, channel: string): Pick<ChannelState, 'list'> {
  return {
    async list(kind, { connectionId, after, limit }) {
      const rows = await database
        .selectFrom('channel_memory')
        .select(['position', 'connection_id', 'key', 'value', 'at'])
        .where('kind', '=', `${channel}.${kind}`)
        .where('position', '>', after)
        .$if(connectionId !== null, (query) => query.where('connection_id', '=', connectionId))
        .orderBy('position')
        .limit(limit)
        .execute()
      return rows.map(({ connection_id: id, ...entry }) => ({ ...entry, connectionId: id }))
    },
  }
}

/**
 * What a channel remembers of one kind (`sandbox.inbox`), oldest first. With a limit: only the newest, in the same order.
 * Streams in pages, so that millions fit.
 */
export async function* listChannelMemory(
  database: Kysely<Tables>,
  wanted: WantedMemory,
): AsyncIterable<RememberedEntry> {
  if (wanted.number !== null) await refuseUnknown(database, wanted.number)
  if (wanted.limit === 0) return
  const from = wanted.limit === null ? 0 : await beforeNewest(database, wanted, wanted.limit)
  const read = (last: (RememberedEntry & { readonly position: number }) | null) =>
    selectWanted(database, wanted)
      .select(['r.position', 'c.number as connection', 'r.key', 'r.value', 'r.at'])
      .where('r.position', '>', last?.position ?? from)
      .orderBy('r.position')
      .limit(PAGE)
      .execute()
  for await (const rows of pages(PAGE, read)) for (const { position: _, ...entry } of rows) yield entry
}

function selectWanted(database: Kysely<Tables>, { kind, accountId, number }: WantedMemory) {
  let query = database
    .selectFrom('channel_memory as r')
    .innerJoin('connection as c', 'c.id', 'r.connection_id')
    .where('r.kind', '=', kind)
  if (accountId !== null) query = query.where('c.account_id', '=', accountId)
  if (number !== null) query = query.where('c.number', '=', number)
  return query
}

async function beforeNewest(database: Kysely<Tables>, wanted: WantedMemory, count: number): Promise<number> {
  const first = await selectWanted(database, wanted)
    .select('r.position')
    .orderBy('r.position', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
  return first ? first.position - 1 : 0
}

/** A mistyped number must differ from one that has sent nothing. */
async function refuseUnknown(database: Kysely<Tables>, number: string): Promise<void> {
  const row = await database.selectFrom('connection').select('id').where('number', '=', number).executeTakeFirst()
  if (!row) throw new Refusal('connection_unknown', `There never was a connection with the number ${number}.`)
}
