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
        const { numInsertedOrUpdatedRows = 0n } = await tables
          .insertInto('blocked_recipient')
          .values(
            wanted.map((recipient) => ({
              account_id: accountId,
              recipient,
              reason,
              since: at,
              blocked_by: making.actor,
            })),
          )
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirstOrThrow()
        const blocked = Number(numInsertedOrUpdatedRows)
        if (blocked > 0) {
          await countList(making, accountId, blocked)
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
        await countList(making, accountId, -removed.length)
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
        await countList(making, accountId, 0)
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
  { tables }: Change,
  {
    accountId,
    recipient,
    entry,
  }: { readonly accountId: AccountId; readonly recipient: string; readonly entry: string },
): Promise<void> {
  await tables
    .updateTable('blocked_recipient')
    // The reason may name the person.
    .set({ recipient: entry, reason: null })
    .where('account_id', '=', accountId)
    .where('recipient', '=', recipient)
    .execute()
}

function readList(tables: Reader, accountId: AccountId) {
  return tables.selectFrom('block_list').selectAll().where('account_id', '=', accountId).executeTakeFirst()
}

/** `added` is negative when entries were taken out. */
async function countList({ tables, engine }: Change, accountId: AccountId, added: number): Promise<void> {
  await tables
    .insertInto('block_list')
    .values({ account_id: accountId, entries: Math.max(0, added) })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({ entries: sql<number>`block_list.entries + ${sql.lit(added)}` }),
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
