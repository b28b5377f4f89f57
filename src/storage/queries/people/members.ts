import type { AccountId } from '../../../core/ids.ts'
import type { Members } from '../../../core/ports/console/people.ts'
import { Refusal } from '../../../core/refusals.ts'
import { type Change, change, type Reader, type Store, writeAudit } from '../store.ts'
import { selectLiving } from './links.ts'
import { HAS_SECOND_FACTOR } from './person-view.ts'

export function createMembers(store: Store): Members {
  return { ...createAccountSettings(store), ...createMemberships(store), ...createInvitations(store) }
}

function createAccountSettings(store: Store): Pick<Members, 'readAccount' | 'renameAccount' | 'requireSecondFactor'> {
  return {
    readAccount: (accountId) => readAccount(store.database, accountId),
    renameAccount: (accountId, name, by) =>
      change(store, by, async (making) => {
        const { tables } = making
        const { name: was } = await readAccount(tables, accountId)
        // Another account may have the name: a refusal would reveal that the account exists.
        await tables.updateTable('account').set({ name }).where('id', '=', accountId).execute()
        await writeAudit(making, { action: 'account.rename', object: accountId, accountId, detail: { name, was } })
      }),
    requireSecondFactor: (accountId, isRequired, by) =>
      change(store, by, async (making) => {
        await making.tables
          .updateTable('account')
          .set({ requires_second_factor: isRequired ? 1 : 0 })
          .where('id', '=', accountId)
          .execute()
        const action = isRequired ? 'account.require-second-factor' : 'account.stop-requiring-second-factor'
        await writeAudit(making, { action, object: accountId, accountId })
      }),
  }
}

function createMemberships(store: Store): Pick<Members, 'listMembers' | 'changeRole' | 'removeMember'> {
  const { database } = store
  return {
    async listMembers(accountId) {
      const rows = await database
        .selectFrom('membership as m')
        .innerJoin('person as p', 'p.id', 'm.person_id')
        .select(['p.id as personId', 'p.email', 'p.name', 'm.role', 'm.joined_at as joinedAt'])
        .select(['p.last_sign_in_at as lastSignInAt', HAS_SECOND_FACTOR.as('hasSecondFactor')])
        .where('m.account_id', '=', accountId)
        .orderBy('p.name')
        .orderBy('p.id')
        .execute()
      return rows.map((row) => ({ ...row, hasSecondFactor: row.hasSecondFactor === 1 }))
    },
    changeRole: ({ accountId, personId, role }, by) =>
      change(store, by, async (making) => {
        const { email, role: was } = await findMember(making, { accountId, personId })
        if (was === role) return
        if (was === 'owner') await refuseLastOwner(making, accountId)
        await making.tables
          .updateTable('membership')
          .set({ role })
          .where('account_id', '=', accountId)
          .where('person_id', '=', personId)
          .execute()
        await writeAudit(making, {
          action: 'member.change-role',
          object: personId,
          accountId,
          detail: { email, role, was },
        })
      }),
    removeMember: (accountId, personId, by) =>
      change(store, by, async (making) => {
        const { email, role } = await findMember(making, { accountId, personId })
        if (role === 'owner') await refuseLastOwner(making, accountId)
        await making.tables
          .deleteFrom('membership')
          .where('account_id', '=', accountId)
          .where('person_id', '=', personId)
          .execute()
        await writeAudit(making, { action: 'member.remove', object: personId, accountId, detail: { email, role } })
      }),
  }
}

function createInvitations(store: Store): Pick<Members, 'listInvitations' | 'withdrawInvitation'> {
  const { database } = store
  return {
    listInvitations: async (accountId) => {
      const rows = await selectLiving(database, store.now())
        .select(['l.id', 'l.email', 'l.role', 'l.created_at as createdAt', 'l.expires_at as expiresAt'])
        .select('l.created_by as createdBy')
        .where('l.account_id', '=', accountId)
        .where('l.kind', '=', 'invitation')
        .orderBy('l.created_at', 'desc')
        .orderBy('l.id')
        .execute()
      return rows.map((row) => ({ ...row, email: row.email ?? '', role: row.role ?? 'viewer' }))
    },
    withdrawInvitation: (accountId, id, by) =>
      change(store, by, async (making) => {
        const row = await making.tables
          .updateTable('person_link')
          .set({ used_at: making.at })
          .where('account_id', '=', accountId)
          .where('id', '=', id)
          .where('kind', '=', 'invitation')
          .where('used_at', 'is', null)
          .where('expires_at', '>', making.at)
          .returning(['email', 'role'])
          .executeTakeFirst()
        if (!row) throw new Refusal('invitation_unknown')
        const { email, role } = row
        await writeAudit(making, { action: 'invitation.withdraw', object: id, accountId, detail: { email, role } })
      }),
  }
}

async function readAccount(tables: Reader, accountId: AccountId) {
  const row = await tables.selectFrom('account').selectAll().where('id', '=', accountId).executeTakeFirst()
  if (!row) throw new Refusal('account_unknown')
  return {
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    requiresSecondFactor: row.requires_second_factor === 1,
  }
}

async function findMember(
  { tables }: Change,
  { accountId, personId }: { readonly accountId: AccountId; readonly personId: string },
) {
  const row = await tables
    .selectFrom('membership as m')
    .innerJoin('person as p', 'p.id', 'm.person_id')
    .select(['p.email', 'm.role'])
    .where('m.account_id', '=', accountId)
    .where('m.person_id', '=', personId)
    .executeTakeFirst()
  if (!row) throw new Refusal('member_unknown')
  return row
}

async function refuseLastOwner({ tables }: Change, accountId: AccountId): Promise<void> {
  const owners = await tables
    .selectFrom('membership')
    .select('person_id')
    .where('account_id', '=', accountId)
    .where('role', '=', 'owner')
    .limit(2)
    .execute()
  if (owners.length < 2) throw new Refusal('last_owner')
}
