import type { AccountId, TokenId } from '../../../core/ids.ts'
import type { TokenViews } from '../../../core/ports/console/tokens.ts'
import { Refusal } from '../../../core/refusals.ts'
import { readBoundConnections } from '../../../core/token/bound-connections.ts'
import { oldEndAt, refuseEnded } from '../../../core/token/rotation.ts'
import { type Change, change, readingOf, type Store, writeAudit } from '../store.ts'
import { listTokenConnections, readToken } from './token-rows.ts'
import { addToken, isTaken, refuseTakenName } from './tokens.ts'

const LONGEST_NAME = 60
const MOST_NAMES_TRIED = 100

export function createTokenChanges(
  store: Store,
): Pick<TokenViews, 'refuseTakenName' | 'createBoundToken' | 'renameToken' | 'rotateToken'> {
  return {
    async refuseTakenName(accountId, name) {
      await refuseTakenName(readingOf(store).tables, accountId, name)
    },
    createBoundToken: (token, actor) =>
      change(store, actor, async (making) => {
        readBoundConnections(token.connectionIds, await listTokenConnections(making.tables, token.accountId))
        const id = await addToken(making, token)
        return readToken(making.tables, token.accountId, id)
      }),
    renameToken: (accountId, { id, name }, actor) =>
      change(store, actor, async (making) => {
        const old = await readToken(making.tables, accountId, id)
        if (old.deletedAt !== null) throw new Refusal('token_unknown', 'This token was deleted, so it keeps its name.')
        if (old.name === name) return old
        await refuseTakenName(making.tables, accountId, name)
        await rename(making, { accountId, id, from: old.name, to: name })
        return readToken(making.tables, accountId, id)
      }),
    /**
     * The successor takes over the name, because the name identifies the caller, which now uses the successor. Notes and scripts
     * that use the name then refer to the valid token.
     */
    rotateToken: (accountId, rotation, actor) =>
      change(store, actor, async (making) => {
        const { tables, at } = making
        const old = await readToken(tables, accountId, rotation.id)
        refuseEnded(old, at)
        const endsAt = oldEndAt(rotation.oldEndsAt, old, at)
        const oldName = await freeNameOfOld(making, accountId, old.name)
        await rename(making, { accountId, id: old.id, from: old.name, to: oldName })
        const id = await addToken(making, {
          accountId,
          name: old.name,
          events: old.events,
          expiresAt: rotation.expiresAt,
          // Removed ones too.
          connectionIds: old.connections?.map((each) => each.id) ?? null,
          sourceRanges: old.sourceRanges,
          sha256: rotation.sha256,
          prefix: rotation.prefix,
        })
        await tables
          .updateTable('token')
          .set({ expires_at: endsAt, successor_id: id })
          .where('account_id', '=', accountId)
          .where('id', '=', old.id)
          .execute()
        const detail = { name: old.name, successor: id, endedBefore: old.expiresAt, endsAt }
        await writeAudit(making, { action: 'token.rotate', object: old.id, accountId, detail })
        return readToken(tables, accountId, id)
      }),
  }
}

async function rename(
  making: Change,
  { accountId, id, from, to }: { accountId: AccountId; id: TokenId; from: string; to: string },
): Promise<void> {
  await making.tables
    .updateTable('token')
    .set({ name: to })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .execute()
  await writeAudit(making, { action: 'token.rename', object: id, accountId, detail: { from, to } })
}

/** `shop (old)`, `shop (old 2)` and so on. */
async function freeNameOfOld({ tables }: Change, accountId: AccountId, name: string): Promise<string> {
  for (let number = 1; number <= MOST_NAMES_TRIED; number++) {
    const ending = number === 1 ? ' (old)' : ` (old ${number})`
    const free =
      [...name]
        .slice(0, LONGEST_NAME - ending.length)
        .join('')
        .trimEnd() + ending
    if (!(await isTaken(tables, accountId, free))) return free
  }
  throw new Refusal('token_exists', `There are ${MOST_NAMES_TRIED} old tokens of this name. Delete some of them first.`)
}
