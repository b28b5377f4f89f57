import { sql } from 'kysely'
import type { Credentials, PersonView } from '../../../core/ports/console/people.ts'
import type { Reader } from '../store.ts'

/** The lookup key. People write one address in several ways, and all of them belong to the same person. */
export function emailKey(email: string): string {
  return email.trim().normalize('NFC').toLowerCase()
}

/** For the person `p` of an outer query. */
const HAS_TOTP = sql<number>`case when exists (
  select 1 from totp t where t.person_id = p.id and t.confirmed_at is not null) then 1 else 0 end`
const HAS_PASSKEY = sql<number>`case when exists (
  select 1 from passkey k where k.person_id = p.id) then 1 else 0 end`
export const HAS_SECOND_FACTOR = sql<number>`case when exists (
  select 1 from totp t where t.person_id = p.id and t.confirmed_at is not null)
  or exists (select 1 from passkey k where k.person_id = p.id) then 1 else 0 end`

export async function readPeople(tables: Reader, personId: string | null): Promise<readonly PersonView[]> {
  let people = tables
    .selectFrom('person as p')
    .select(['p.id', 'p.email', 'p.name', 'p.password_hash', 'p.created_at', 'p.last_sign_in_at'])
    .select(HAS_SECOND_FACTOR.as('has_second_factor'))
  let memberships = tables
    .selectFrom('membership as m')
    .innerJoin('account as a', 'a.id', 'm.account_id')
    .select(['m.person_id', 'm.role', 'a.id', 'a.name', 'a.requires_second_factor'])
  if (personId !== null) {
    people = people.where('p.id', '=', personId)
    memberships = memberships.where('m.person_id', '=', personId)
  }
  const accounts = Map.groupBy(await memberships.orderBy('a.name').orderBy('a.id').execute(), (row) => row.person_id)
  const rows = await people.orderBy('p.created_at').orderBy('p.id').execute()
  return rows.map((row) => ({
    id: row.id,
    email: row.email,
    name: row.name,
    createdAt: row.created_at,
    lastSignInAt: row.last_sign_in_at,
    hasPassword: row.password_hash !== null,
    hasSecondFactor: row.has_second_factor === 1,
    accounts: (accounts.get(row.id) ?? []).map(({ id, name, role, requires_second_factor }) => ({
      id,
      name,
      role,
      requiresSecondFactor: requires_second_factor === 1,
    })),
  }))
}

export async function readCredentials(
  tables: Reader,
  by: { readonly email: string } | { readonly personId: string },
): Promise<Credentials | null> {
  const people = tables
    .selectFrom('person as p')
    .select(['p.id as personId', 'p.email', 'p.password_hash as passwordHash'])
    .select([HAS_TOTP.as('hasTotp'), HAS_PASSKEY.as('hasPasskey')])
  const row = await ('email' in by
    ? people.where('p.email_key', '=', emailKey(by.email))
    : people.where('p.id', '=', by.personId)
  ).executeTakeFirst()
  return row ? { ...row, hasTotp: row.hasTotp === 1, hasPasskey: row.hasPasskey === 1 } : null
}
