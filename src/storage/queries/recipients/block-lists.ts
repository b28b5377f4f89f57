import { sql } from 'kysely'
import type { AccountId } from '../../../core/ids.ts'
import { ERASED } from '../../../core/message/erased.ts'
import { type Block, type BlockLists, hintOf, isHashedEntry } from '../../../core/ports/recipients.ts'
import { Refusal } from '../../../core/refusals.ts'
import { type Change, change, type Reader, type Store, writeAudit } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

const BLOCKED_AT_ONCE = 1_000

export function createBlockLists(store: Store): BlockLists {
  return { ...createEntries(store), ...createListReads(store) }
}

function createEntries(store: Store): Pick<BlockLists, 'block' | 'unblock'> {
  return {
    block(accountId, { numbers, reason }, actor) {
      const wanted = [...new Set(numbers)]
      if (wanted.length > BLOCKED_AT_ONCE) throw new Error(`At most ${BLOCKED_AT_ONCE} recipients are blocked at once`)
      return change(store, actor, async (making) => {
        const { tables, at } = making
        const version = await nextVersion(tables)
        const { numInsertedOrUpdatedRows = 0n } = await tables
          .insertInto('blocked_recipient')
          .values(
            wanted.map((recipient) => ({
              account_id: accountId,
              recipient,
              reason,
              since: at,
              blocked_by: making.actor,
              version,
            })),
          )
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow()
        const blocked = Number(numInsertedOrUpdatedRows)
        if (blocked > 0) {
          await moveList(making, { accountId, version, added: blocked })
          const [only] = wanted
          const object = wanted.length === 1 && only ? hintOf(only) : `${blocked} recipients`
          await writeAudit(making, { action: 'recipient.block', object, accountId, detail: { blocked } })
        }
        return { blocked, already: wanted.length - blocked }
      })
    },
    unblock: (accountId, entries, actor) =>
      change(store, actor, async (making) => {
        const { tables } = making
        const removed = await tables
          .deleteFrom('blocked_recipient')
          .where('account_id', '=', accountId)
          .where('recipient', 'in', entries)
          .returningAll()
          .execute()
        const [first] = removed
        if (!first) throw new Refusal('recipient_not_blocked')
        const version = await nextVersion(tables)
        await moveList(making, { accountId, version, added: -removed.length })
        const object = isHashedEntry(first.recipient) ? 'an erased recipient' : hintOf(first.recipient)
        await writeAudit(making, { action: 'recipient.unblock', object, accountId })
        return toBlock(first)
      }),
  }
}

function createListReads(store: Store): Omit<BlockLists, 'block' | 'unblock'> {
  const { database } = store
  return {
    findBlock: (accountId, entries) => findBlock(database, accountId, entries),
    async listBlocks(accountId, { find, after, limit }) {
      const rows = await database
        .selectFrom('blocked_recipient')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('recipient', '>', after ?? '')
        .$if(find !== null, (query) =>
          query.where('recipient', '>=', find ?? '').where('recipient', '<', `${find ?? ''}:`),
        )
        .orderBy('recipient')
        .limit(limit + 1)
        .execute()
      const page = rows.slice(0, limit)
      return { items: page.map(toBlock), next: rows.length > limit ? (page.at(-1)?.recipient ?? null) : null }
    },
    async countBlocks(accountId) {
      const list = await readList(database, accountId)
      return list?.entries ?? 0
    },
    async readHashKey(accountId) {
      const list = await readList(database, accountId)
      return list?.hash_key ?? null
    },
    addHashKey(accountId, sealed) {
      // No person does this: the key is created when the first recipient is erased.
      return change(store, 'erasing', async (making) => {
        const found = await readList(making.tables, accountId)
        if (found?.hash_key) return found.hash_key
        const version = await nextVersion(making.tables)
        await moveList(making, { accountId, version, added: 0 })
        await making.tables
          .updateTable('block_list')
          .set({ hash_key: sealed })
          .where('account_id', '=', accountId)
          .execute()
        return sealed
      })
    },
  }
}

export async function findBlock(
  tables: Reader,
  accountId: AccountId,
  entries: readonly string[],
): Promise<Block | null> {
  const row = await tables
    .selectFrom('blocked_recipient')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('recipient', 'in', entries)
    .executeTakeFirst()
  return row ? toBlock(row) : null
}

/** Puts a hash in the place of a number, inside a change. Does nothing where the number is not blocked. */
export async function hideBlock(
  making: Change,
  {
    accountId,
    recipient,
    entry,
  }: { readonly accountId: AccountId; readonly recipient: string; readonly entry: string },
): Promise<void> {
  const { tables } = making
  const version = await nextVersion(tables)
  const { numUpdatedRows } = await tables
    .updateTable('blocked_recipient')
    // The reason may name the person.
    .set({ recipient: entry, reason: null, version })
    .where('account_id', '=', accountId)
    .where('recipient', '=', recipient)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows > 0n) await moveList(making, { accountId, version, added: 0 })
}

function readList(tables: Reader, accountId: AccountId) {
  return tables.selectFrom('block_list').selectAll().where('account_id', '=', accountId).executeTakeFirst()
}

/** No two changes run at once, so versions commit in their order. */
async function nextVersion(tables: Reader): Promise<number> {
  const row = await tables
    .selectFrom('block_list')
    .select(({ fn }) => fn.max('version').as('newest'))
    .executeTakeFirst()
  return (row?.newest ?? 0) + 1
}

interface Move {
  readonly accountId: AccountId
  readonly version: number
  /** Negative when entries were taken out; none when one was replaced. */
  readonly added: number
}

async function moveList({ tables, engine }: Change, { accountId, version, added }: Move): Promise<void> {
  const removals = added > 0 ? 0 : 1
  await tables
    .insertInto('block_list')
    .values({ account_id: accountId, version, removals, entries: Math.max(0, added) })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({
        version,
        removals: sql<number>`block_list.removals + ${sql.lit(removals)}`,
        entries: sql<number>`block_list.entries + ${sql.lit(added)}`,
      }),
    )
    .execute()
  await engine.notifyOfBlocks(tables)
}

function toBlock(row: Tables['blocked_recipient']): Block {
  const { recipient, reason, since, blocked_by: blockedBy } = row
  return { recipient: isHashedEntry(recipient) ? null : recipient, reason, since, blockedBy, entry: recipient }
}

/** Callers are about to copy a message. */
export async function refuseBlocked(
  { tables }: Change,
  { accountId, recipient }: { readonly accountId: AccountId; readonly recipient: string },
): Promise<void> {
  if (recipient === ERASED) throw new Refusal('recipient_was_erased')
  if (await findBlock(tables, accountId, [recipient])) throw new Refusal('recipient_is_blocked')
}
