import type { Instant } from '../../../core/ids.ts'
import { DEVICE_KNOWN_FOR_MS, SESSION_LASTS } from '../../../core/people/lifetimes.ts'
import { checkTries, type ThrottledTry, TRIES_FORGOTTEN_AFTER_MS, type Tries } from '../../../core/people/throttle.ts'
import type { Proof, Sessions } from '../../../core/ports/console/sessions.ts'
import { newPeopleId } from '../new-id.ts'
import { change, type Reader, type Store, writeAudit } from '../store.ts'
import { HAS_SECOND_FACTOR } from './person-view.ts'

// Otherwise each request would write, so each page that a person opens.
const USE_NOTED_EVERY_MS = 60_000

export function createSessions(store: Store): Sessions {
  return {
    ...createLiving(store),
    ...createRest(store),
    ...createThrottle(store),
    ...createDevices(store),
    ...createTickets(store),
  }
}

function createLiving(store: Store): Pick<Sessions, 'begin' | 'find'> {
  const { database } = store
  return {
    begin(session) {
      const { personId, proof, isKept, remoteAddress, userAgent } = session
      const by = { name: '', personId, remoteAddress, userAgent, right: null }
      return change(store, by, async (making) => {
        const { tables, at } = making
        await sweep(tables, at)
        const id = newPeopleId('ses')
        await tables
          .insertInto('session')
          .values({
            id,
            sha256: Buffer.from(session.sha256),
            person_id: personId,
            proof,
            is_kept: isKept ? 1 : 0,
            started_at: at,
            last_used_at: at,
            ends_at: at + (isKept ? SESSION_LASTS.kept : SESSION_LASTS.usual).mostMs,
            proven_at: at,
            remote_address: remoteAddress,
            user_agent: userAgent,
          })
          .execute()
        const { email } = await tables
          .updateTable('person')
          .set({ last_sign_in_at: at })
          .where('id', '=', personId)
          .returning('email')
          .executeTakeFirstOrThrow()
        await writeAudit(
          { ...making, actor: email },
          { action: 'sign-in', object: personId, accountId: null, detail: { proof } },
        )
        return id
      })
    },
    async find(sha256) {
      const now = store.now()
      const row = await selectLiving(database, now)
        .innerJoin('person as p', 'p.id', 's.person_id')
        .select(['s.id', 's.person_id', 's.last_used_at', 's.proven_at', 'p.email', 'p.name'])
        .select(HAS_SECOND_FACTOR.as('has_second_factor'))
        .where('s.sha256', '=', Buffer.from(sha256))
        .executeTakeFirst()
      if (!row) return null
      const memberships = await database
        .selectFrom('membership as m')
        .innerJoin('account as a', 'a.id', 'm.account_id')
        .select(['m.account_id', 'm.role', 'a.requires_second_factor'])
        .where('m.person_id', '=', row.person_id)
        .execute()
      if (now - row.last_used_at >= USE_NOTED_EVERY_MS)
        await database.updateTable('session').set({ last_used_at: now }).where('id', '=', row.id).execute()
      return {
        sessionId: row.id,
        personId: row.person_id,
        email: row.email,
        name: row.name,
        provenAt: row.proven_at,
        hasSecondFactor: row.has_second_factor === 1,
        memberships: memberships.map(({ account_id, role, requires_second_factor }) => ({
          accountId: account_id,
          role,
          requiresSecondFactor: requires_second_factor === 1,
        })),
      }
    },
  }
}

function createRest(store: Store): Pick<Sessions, 'list' | 'prove' | 'end' | 'endAll'> {
  const { database } = store
  return {
    async list(personId) {
      const rows = await selectLiving(database, store.now())
        .select(['s.id', 's.started_at as startedAt', 's.last_used_at as lastUsedAt', 's.ends_at as endsAt', 's.proof'])
        .select(['s.is_kept as isKept', 's.remote_address as remoteAddress', 's.user_agent as userAgent'])
        .where('s.person_id', '=', personId)
        .orderBy('s.last_used_at', 'desc')
        .orderBy('s.id')
        .execute()
      return rows.map((row) => ({ ...row, isKept: row.isKept === 1, proof: row.proof as Proof }))
    },
    async prove(sessionId, newSha256) {
      const { numUpdatedRows } = await database
        .updateTable('session')
        .set({ sha256: Buffer.from(newSha256), proven_at: store.now() })
        .where('id', '=', sessionId)
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
    async end(personId, sessionId) {
      const { numDeletedRows } = await database
        .deleteFrom('session')
        .where('id', '=', sessionId)
        .where('person_id', '=', personId)
        .executeTakeFirst()
      return numDeletedRows === 1n
    },
    async endAll(personId, except) {
      let sessions = database.deleteFrom('session').where('person_id', '=', personId)
      if (except !== null) sessions = sessions.where('id', '<>', except)
      return Number((await sessions.executeTakeFirst()).numDeletedRows)
    },
  }
}

function createThrottle(store: Store): Pick<Sessions, 'countTry' | 'forgiveTry'> {
  const { database } = store
  return {
    /** In one transaction, during which no other one can count. */
    countTry(tries) {
      return database.transaction().execute(async (tables) => {
        await store.engine.beginChange(tables)
        const now = store.now()
        const counters: (ThrottledTry & { tries: Tries | null })[] = []
        for (const { key, rule } of tries) counters.push({ key, rule, tries: await readTries(tables, key) })
        const result = checkTries(counters, now)
        if ('until' in result) return result.until
        for (const { key, count, countedFrom, lastAt } of result.counted) {
          const values = { tries: count, counted_from: countedFrom, last_at: lastAt }
          await tables
            .insertInto('sign_in_throttle')
            .values({ key, ...values })
            .onConflict((conflict) => conflict.column('key').doUpdateSet(values))
            .execute()
        }
        return null
      })
    },
    async forgiveTry({ reset, returned }) {
      if (reset.length > 0) await database.deleteFrom('sign_in_throttle').where('key', 'in', reset).execute()
      if (returned.length > 0)
        await database
          .updateTable('sign_in_throttle')
          .set((its) => ({ tries: its('tries', '-', 1) }))
          .where('key', 'in', returned)
          .where('tries', '>', 0)
          .execute()
    },
  }
}

function createDevices(store: Store): Pick<Sessions, 'knowsDevice' | 'rememberDevice'> {
  const { database } = store
  return {
    async knowsDevice(personId, sha256) {
      const row = await database
        .selectFrom('known_device')
        .select('used_at')
        .where('person_id', '=', personId)
        .where('sha256', '=', Buffer.from(sha256))
        .executeTakeFirst()
      return row !== undefined
    },
    async rememberDevice(personId, sha256) {
      const at = store.now()
      await database
        .insertInto('known_device')
        .values({ person_id: personId, sha256: Buffer.from(sha256), used_at: at })
        .onConflict((conflict) => conflict.columns(['person_id', 'sha256']).doUpdateSet({ used_at: at }))
        .execute()
      await database
        .deleteFrom('known_device')
        .where('used_at', '<=', at - DEVICE_KNOWN_FOR_MS)
        .execute()
    },
  }
}

function createTickets(store: Store): Pick<Sessions, 'addTicket' | 'findTicket' | 'dropTicket'> {
  const { database } = store
  return {
    async addTicket({ sha256, kind, personId, content, expiresAt }) {
      await database
        .insertInto('sign_in_ticket')
        .values({ sha256: Buffer.from(sha256), kind, person_id: personId, content, expires_at: expiresAt })
        .execute()
    },
    async findTicket(sha256, kind, take) {
      const row = take
        ? await database
            .deleteFrom('sign_in_ticket')
            .where('sha256', '=', Buffer.from(sha256))
            .where('kind', '=', kind)
            .returningAll()
            .executeTakeFirst()
        : await database
            .selectFrom('sign_in_ticket')
            .selectAll()
            .where('sha256', '=', Buffer.from(sha256))
            .where('kind', '=', kind)
            .executeTakeFirst()
      if (!row || row.expires_at <= store.now()) return null
      return { sha256, kind, personId: row.person_id, content: row.content, expiresAt: row.expires_at }
    },
    async dropTicket(sha256) {
      await database.deleteFrom('sign_in_ticket').where('sha256', '=', Buffer.from(sha256)).execute()
    },
  }
}

/** Deletes expired rows, which have no further use. */
async function sweep(tables: Reader, now: Instant): Promise<void> {
  await tables
    .deleteFrom('session')
    .where((its) =>
      its.or([
        its('ends_at', '<=', now),
        its('last_used_at', '<=', now - SESSION_LASTS.kept.idleMs),
        its.and([its('is_kept', '=', 0), its('last_used_at', '<=', now - SESSION_LASTS.usual.idleMs)]),
      ]),
    )
    .execute()
  await tables.deleteFrom('sign_in_ticket').where('expires_at', '<=', now).execute()
  await sweepThrottle(tables, now)
}

function selectLiving(tables: Reader, now: Instant) {
  return tables
    .selectFrom('session as s')
    .where('s.ends_at', '>', now)
    .where((its) =>
      its.or([
        its('s.last_used_at', '>', now - SESSION_LASTS.usual.idleMs),
        its.and([its('s.is_kept', '=', 1), its('s.last_used_at', '>', now - SESSION_LASTS.kept.idleMs)]),
      ]),
    )
}

async function readTries(tables: Reader, key: string): Promise<Tries | null> {
  const row = await tables.selectFrom('sign_in_throttle').selectAll().where('key', '=', key).executeTakeFirst()
  return row ? { count: row.tries, countedFrom: row.counted_from, lastAt: row.last_at } : null
}

async function sweepThrottle(tables: Reader, now: Instant): Promise<void> {
  await tables
    .deleteFrom('sign_in_throttle')
    .where('last_at', '<=', now - TRIES_FORGOTTEN_AFTER_MS)
    .execute()
}
