import type { AccountId } from '../../../core/ids.ts'
import type { Membership, NewPerson } from '../../../core/ports/console/people.ts'
import { Refusal } from '../../../core/refusals.ts'
import { newPeopleId } from '../new-id.ts'
import { type Change, writeAudit } from '../store.ts'
import { emailKey } from './person-view.ts'

/** Refuses with `person_exists`. */
export async function insertPerson(making: Change, { email, name, passwordHash }: NewPerson): Promise<string> {
  const id = newPeopleId('per')
  const { numInsertedOrUpdatedRows } = await making.tables
    .insertInto('person')
    .values({
      id,
      email: email.trim(),
      email_key: emailKey(email),
      name,
      password_hash: passwordHash,
      created_at: making.at,
    })
    .onConflict((conflict) => conflict.column('email_key').doNothing())
    .executeTakeFirstOrThrow()
  if (numInsertedOrUpdatedRows !== 1n)
    throw new Refusal('person_exists', `There is a person with the e-mail ${email.trim()} already.`, 'email')
  await writeAudit(making, { action: 'person.add', object: id, accountId: null, detail: { email: email.trim(), name } })
  return id
}

export async function addMembership(
  making: Change,
  { accountId, role, personId, email }: Membership & { readonly personId: string; readonly email: string },
): Promise<void> {
  await making.tables
    .insertInto('membership')
    .values({ account_id: accountId, person_id: personId, role, joined_at: making.at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  // A person who is removed later must not come back by another invitation.
  await withdrawInvitations(making, { accountId, email })
  await writeAudit(making, { action: 'member.add', object: personId, accountId, detail: { email, role } })
}

/** All that are open for this e-mail address in this account. */
export async function withdrawInvitations(
  { tables, at }: Change,
  { accountId, email }: { readonly accountId: AccountId; readonly email: string },
): Promise<void> {
  const open = await tables
    .selectFrom('person_link')
    .select(['id', 'email'])
    .where('account_id', '=', accountId)
    .where('used_at', 'is', null)
    .execute()
  for (const link of open) {
    if (link.email === null || emailKey(link.email) !== emailKey(email)) continue
    await tables.updateTable('person_link').set({ used_at: at }).where('id', '=', link.id).execute()
  }
}

/** Ends old sessions and links, because a person who holds one may be the reason for the new password. */
export async function setPassword(
  making: Change,
  { personId, hash, keep }: { readonly personId: string; readonly hash: string; readonly keep: string | null },
): Promise<void> {
  const { tables, at } = making
  await tables.updateTable('person').set({ password_hash: hash }).where('id', '=', personId).execute()
  await tables
    .updateTable('person_link')
    .set({ used_at: at })
    .where('kind', '=', 'reset-password')
    .where('person_id', '=', personId)
    .where('used_at', 'is', null)
    .execute()
  await endSessions(making, { personId, keep })
  await writeAudit(making, { action: 'password.change', object: personId, accountId: null })
}

export async function endSessions(
  { tables }: Pick<Change, 'tables'>,
  { personId, keep }: { readonly personId: string; readonly keep: string | null },
): Promise<void> {
  let sessions = tables.deleteFrom('session').where('person_id', '=', personId)
  if (keep !== null) sessions = sessions.where('id', '<>', keep)
  await sessions.execute()
  // A sign-in between its two steps would lead to a session, too.
  await tables.deleteFrom('sign_in_ticket').where('person_id', '=', personId).execute()
}
