import type { AccountId, Instant } from '../../../core/ids.ts'
import { LINK_LASTS_MS } from '../../../core/people/lifetimes.ts'
import type { LinkKind, LinkView, NewLink, Persons } from '../../../core/ports/console/people.ts'
import { Refusal } from '../../../core/refusals.ts'
import { newAccountId, newPeopleId } from '../new-id.ts'
import { type Change, change, type Reader, type Store, writeAudit } from '../store.ts'
import { emailKey } from './person-view.ts'
import { addMembership, insertPerson, setPassword, withdrawInvitations } from './write-person.ts'

export function createPersonLinks(store: Store): Pick<Persons, 'createPersonLink' | 'findPersonLink'> {
  return {
    findPersonLink: (sha256, kind) => findPersonLink(store.database, { sha256, kind, now: store.now() }),
    createPersonLink: (link, by) =>
      change(store, by, async (making) => {
        const { tables, at } = making
        await refuseUseless(making, link)
        const { kind, personId, invitation } = link
        if (personId !== null) await withdrawOlder(making, { kind, personId })
        if (invitation) await withdrawInvitations(making, invitation)
        const id = newPeopleId('lnk')
        await tables
          .insertInto('person_link')
          .values({
            id,
            sha256: link.sha256,
            kind,
            person_id: personId,
            account_id: invitation?.accountId ?? null,
            role: invitation?.role ?? null,
            email: invitation?.email.trim() ?? null,
            created_at: at,
            created_by: making.actor,
            maker_id: making.person?.personId ?? null,
            expires_at: at + LINK_LASTS_MS[kind],
          })
          .execute()
        await writeAudit(making, {
          action: `link.create.${kind}`,
          object: personId ?? id,
          accountId: invitation?.accountId ?? null,
          detail: invitation ? { email: invitation.email.trim(), role: invitation.role } : {},
        })
        return living(making, { sha256: link.sha256, kind })
      }),
  }
}

async function refuseUseless({ tables }: Change, { kind, invitation }: NewLink): Promise<void> {
  if (kind === 'set-up' && (await tables.selectFrom('person').select('id').limit(1).executeTakeFirst()))
    throw new Refusal('people_exist')
  if (!invitation) return
  const member = await tables
    .selectFrom('membership as m')
    .innerJoin('person as p', 'p.id', 'm.person_id')
    .select('p.id')
    .where('m.account_id', '=', invitation.accountId)
    .where('p.email_key', '=', emailKey(invitation.email))
    .executeTakeFirst()
  if (member) throw new Refusal('person_exists', `${invitation.email.trim()} belongs to this account already.`, 'email')
}

async function withdrawOlder(
  { tables, at }: Change,
  { kind, personId }: { readonly kind: LinkKind; readonly personId: string },
): Promise<void> {
  await tables
    .updateTable('person_link')
    .set({ used_at: at })
    .where('kind', '=', kind)
    .where('person_id', '=', personId)
    .where('used_at', 'is', null)
    .execute()
}

/** Not used, not expired, and made by a person who may still make it: rights are checked at use. */
export function selectLiving(tables: Reader, now: Instant) {
  return tables
    .selectFrom('person_link as l')
    .where('l.used_at', 'is', null)
    .where('l.expires_at', '>', now)
    .where((its) =>
      its.or([
        its('l.maker_id', 'is', null),
        its.exists(
          its
            .selectFrom('membership as m')
            .select('m.role')
            .whereRef('m.account_id', '=', 'l.account_id')
            .whereRef('m.person_id', '=', 'l.maker_id')
            .where('m.role', '=', 'owner'),
        ),
      ]),
    )
}

interface SoughtLink {
  readonly sha256: Buffer
  readonly kind: LinkKind
}

async function findPersonLink(
  tables: Reader,
  { sha256, kind, now }: SoughtLink & { readonly now: Instant },
): Promise<LinkView | null> {
  const row = await selectLiving(tables, now)
    .leftJoin('account as a', 'a.id', 'l.account_id')
    .leftJoin('person as p', 'p.id', 'l.person_id')
    .select(['l.id', 'l.expires_at', 'l.role', 'l.email', 'a.name as account', 'p.id as person_id', 'p.email as own'])
    .where('l.sha256', '=', sha256)
    .where('l.kind', '=', kind)
    .executeTakeFirst()
  if (!row) return null
  const { id, expires_at: expiresAt, account, role } = row
  const email = row.email ?? row.own
  const known =
    row.email === null
      ? null
      : await tables.selectFrom('person').select('id').where('email_key', '=', emailKey(row.email)).executeTakeFirst()
  return { id, kind, expiresAt, email, account, role, personId: row.person_id ?? known?.id ?? null }
}

async function living({ tables, at }: Change, sought: SoughtLink): Promise<LinkView> {
  const link = await findPersonLink(tables, { ...sought, now: at })
  if (!link) throw new Refusal('link_dead')
  return link
}

/** Changes are made one after another, so of two that come with the same link the second finds it used. */
async function spend(making: Change, sought: SoughtLink): Promise<LinkView & { readonly accountId: AccountId | null }> {
  const link = await living(making, sought)
  const { account_id: accountId } = await making.tables
    .updateTable('person_link')
    .set({ used_at: making.at })
    .where('id', '=', link.id)
    .returning('account_id')
    .executeTakeFirstOrThrow()
  return { ...link, accountId }
}

export function createLinkUses(
  store: Store,
): Pick<Persons, 'setUp' | 'acceptInvitation' | 'joinAccount' | 'resetPassword'> {
  return {
    setUp: (sha256, person, by) =>
      change(store, by, async (making) => {
        const { tables, at } = making
        await spend(making, { sha256, kind: 'set-up' })
        if (await tables.selectFrom('person').select('id').limit(1).executeTakeFirst()) throw new Refusal('link_dead')
        const personId = await insertPerson(making, person)
        const first = await tables
          .selectFrom('account')
          .select('id')
          .orderBy('created_at')
          .orderBy('id')
          .executeTakeFirst()
        const accountId = first?.id ?? newAccountId()
        if (!first) {
          await tables.insertInto('account').values({ id: accountId, name: 'Default', created_at: at }).execute()
          await writeAudit(making, {
            action: 'account.create',
            object: accountId,
            accountId,
            detail: { name: 'Default' },
          })
        }
        await addMembership(making, { accountId, role: 'owner', personId, email: person.email })
        return personId
      }),
    acceptInvitation: (sha256, person, by) =>
      change(store, by, async (making) => {
        const { email, role, accountId, personId: known } = await spend(making, { sha256, kind: 'invitation' })
        if (email === null || role === null || accountId === null) throw new Refusal('link_dead')
        if (known !== null)
          throw new Refusal('person_exists', 'You are known here already: sign in, then open this link again.')
        const personId = await insertPerson(making, { ...person, email })
        await addMembership(making, { accountId, role, personId, email })
        return personId
      }),
    joinAccount: (sha256, personId, by) =>
      change(store, by, async (making) => {
        const link = await spend(making, { sha256, kind: 'invitation' })
        const { email, role, accountId } = link
        if (email === null || role === null || accountId === null || link.personId !== personId)
          throw new Refusal('link_dead', 'This invitation does not work for you: it is for another e-mail, or too old.')
        await addMembership(making, { accountId, role, personId, email })
        return accountId
      }),
    resetPassword: (sha256, passwordHash, by) =>
      change(store, by, async (making) => {
        const { personId } = await spend(making, { sha256, kind: 'reset-password' })
        if (personId === null) throw new Refusal('link_dead')
        await setPassword(making, { personId, hash: passwordHash, keep: null })
        return personId
      }),
  }
}
