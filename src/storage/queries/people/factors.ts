import type { Factors, FactorsView, Passkey } from '../../../core/ports/console/people.ts'
import { Refusal } from '../../../core/refusals.ts'
import { newPeopleId } from '../new-id.ts'
import { type Change, change, type Reader, type Store, writeAudit } from '../store.ts'
import { endSessions } from './write-person.ts'

export function createFactors(store: Store): Factors {
  return {
    readFactors: (personId) => readFactors(store.database, personId),
    ...createTotp(store),
    ...createPasskeys(store),
    ...createRecovery(store),
  }
}

type TotpVerbs = 'beginTotp' | 'readTotp' | 'confirmTotp' | 'spendTotpStep' | 'removeTotp'

function createTotp(store: Store): Pick<Factors, TotpVerbs> {
  const { database } = store
  return {
    async beginTotp(personId, secret) {
      await database
        .insertInto('totp')
        .values({
          person_id: personId,
          begun_secret: Buffer.from(secret),
        })
        .onConflict((conflict) => conflict.column('person_id').doUpdateSet({ begun_secret: Buffer.from(secret) }))
        .execute()
    },
    async readTotp(personId, which) {
      const row = await database
        .selectFrom('totp')
        .select(['secret', 'begun_secret'])
        .where('person_id', '=', personId)
        .executeTakeFirst()
      const secret = which === 'confirmed' ? row?.secret : row?.begun_secret
      return secret ? Buffer.from(secret) : null
    },
    confirmTotp: ({ personId, keep, by }, step) =>
      change(store, by, async (making) => {
        const { numUpdatedRows } = await making.tables
          .updateTable('totp')
          .set((its) => ({
            secret: its.ref('begun_secret'),
            begun_secret: null,
            confirmed_at: making.at,
            last_step: step,
          }))
          .where('person_id', '=', personId)
          .where('begun_secret', 'is not', null)
          .executeTakeFirst()
        if (numUpdatedRows !== 1n) return false
        await endSessions(making, { personId, keep })
        await writeAudit(making, { action: 'second-factor.add-code-app', object: personId, accountId: null })
        return true
      }),
    /** One statement, so that of two requests with the same code only one succeeds. */
    async spendTotpStep(personId, step) {
      const { numUpdatedRows } = await database
        .updateTable('totp')
        .set({ last_step: step })
        .where('person_id', '=', personId)
        .where('secret', 'is not', null)
        .where((where) => where.or([where('last_step', 'is', null), where('last_step', '<', step)]))
        .executeTakeFirst()
      return numUpdatedRows === 1n
    },
    removeTotp: ({ personId, keep, by }) =>
      change(store, by, async (making) => {
        const row = await making.tables
          .deleteFrom('totp')
          .where('person_id', '=', personId)
          .returning('confirmed_at')
          .executeTakeFirst()
        if (!row?.confirmed_at) return false
        await afterRemoval(making, { personId, keep })
        await writeAudit(making, { action: 'second-factor.remove-code-app', object: personId, accountId: null })
        return true
      }),
  }
}

type PasskeyVerbs = 'listPasskeys' | 'findPasskey' | 'addPasskey' | 'notePasskeyUse' | 'renamePasskey' | 'removePasskey'

function createPasskeys(store: Store): Pick<Factors, PasskeyVerbs> {
  const { database } = store
  return {
    listPasskeys: (personId) => selectPasskeys(database, { column: 'person_id', is: personId }),
    findPasskey: async (id) => (await selectPasskeys(database, { column: 'credential_id', is: id }))[0] ?? null,
    addPasskey: ({ personId, keep, by }, passkey) =>
      change(store, by, async (making) => {
        const id = newPeopleId('key')
        const { numInsertedOrUpdatedRows } = await making.tables
          .insertInto('passkey')
          .values({
            id,
            person_id: personId,
            credential_id: passkey.credentialId,
            public_key: Buffer.from(passkey.publicKey),
            sign_count: passkey.signCount,
            transports: JSON.stringify(passkey.transports),
            name: passkey.name,
            created_at: making.at,
          })
          .onConflict((conflict) => conflict.column('credential_id').doNothing())
          .executeTakeFirstOrThrow()
        if (numInsertedOrUpdatedRows !== 1n) throw new Refusal('passkey_exists')
        await endSessions(making, { personId, keep })
        const detail = { name: passkey.name }
        await writeAudit(making, { action: 'passkey.add', object: id, accountId: null, detail })
      }),
    async notePasskeyUse(id, signCount) {
      const used = { sign_count: signCount, last_used_at: store.now() }
      await database.updateTable('passkey').set(used).where('id', '=', id).execute()
    },
    renamePasskey: (personId, { id, name }, by) =>
      change(store, by, async (making) => {
        const { numUpdatedRows } = await making.tables
          .updateTable('passkey')
          .set({ name })
          .where('id', '=', id)
          .where('person_id', '=', personId)
          .executeTakeFirst()
        if (numUpdatedRows !== 1n) return false
        await writeAudit(making, { action: 'passkey.rename', object: id, accountId: null, detail: { name } })
        return true
      }),
    removePasskey: ({ personId, keep, by }, id) =>
      change(store, by, async (making) => {
        const row = await making.tables
          .deleteFrom('passkey')
          .where('id', '=', id)
          .where('person_id', '=', personId)
          .returning('name')
          .executeTakeFirst()
        if (!row) return false
        await afterRemoval(making, { personId, keep })
        await writeAudit(making, { action: 'passkey.remove', object: id, accountId: null, detail: { name: row.name } })
        return true
      }),
  }
}

function createRecovery(
  store: Store,
): Pick<Factors, 'removeAllFactors' | 'replaceRecoveryCodes' | 'spendRecoveryCode'> {
  return {
    removeAllFactors: (personId, by) =>
      change(store, by, async (making) => {
        for (const table of ['totp', 'passkey', 'recovery_code'] as const)
          await making.tables.deleteFrom(table).where('person_id', '=', personId).execute()
        await endSessions(making, { personId, keep: null })
        await writeAudit(making, { action: 'second-factor.remove-all', object: personId, accountId: null })
      }),
    replaceRecoveryCodes: (personId, sha256s, by) =>
      change(store, by, async (making) => {
        await making.tables.deleteFrom('recovery_code').where('person_id', '=', personId).execute()
        const rows = sha256s.map((sha256) => ({ person_id: personId, sha256: Buffer.from(sha256), used_at: null }))
        if (rows.length > 0) await making.tables.insertInto('recovery_code').values(rows).execute()
        await writeAudit(making, { action: 'recovery-codes.replace', object: personId, accountId: null })
      }),
    spendRecoveryCode: (personId, sha256, by) =>
      change(store, by, async (making) => {
        const { numUpdatedRows } = await making.tables
          .updateTable('recovery_code')
          .set({ used_at: making.at })
          .where('person_id', '=', personId)
          .where('sha256', '=', Buffer.from(sha256))
          .where('used_at', 'is', null)
          .executeTakeFirst()
        if (numUpdatedRows !== 1n) return false
        await writeAudit(making, { action: 'recovery-codes.use', object: personId, accountId: null })
        return true
      }),
  }
}

async function readFactors(tables: Reader, personId: string): Promise<FactorsView> {
  const totp = await tables
    .selectFrom('totp')
    .select('confirmed_at')
    .where('person_id', '=', personId)
    .executeTakeFirst()
  const passkeys = await tables
    .selectFrom('passkey')
    .select(['id', 'name', 'created_at as createdAt', 'last_used_at as lastUsedAt'])
    .where('person_id', '=', personId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  const { left } = await tables
    .selectFrom('recovery_code')
    .select(({ fn }) => fn.countAll<number>().as('left'))
    .where('person_id', '=', personId)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow()
  return {
    totpSince: totp?.confirmed_at ?? null,
    passkeys: passkeys.map((passkey) => ({ ...passkey })),
    recoveryCodesLeft: Number(left),
  }
}

/** Recovery codes replace a second factor, so they are deleted with the last one. */
async function afterRemoval(making: Change, who: { readonly personId: string; readonly keep: string }): Promise<void> {
  const { totpSince, passkeys } = await readFactors(making.tables, who.personId)
  if (totpSince === null && passkeys.length === 0)
    await making.tables.deleteFrom('recovery_code').where('person_id', '=', who.personId).execute()
  await endSessions(making, who)
}

async function selectPasskeys(
  tables: Reader,
  { column, is }: { readonly column: 'person_id' | 'credential_id'; readonly is: string },
): Promise<readonly Passkey[]> {
  const rows = await tables.selectFrom('passkey').selectAll().where(column, '=', is).orderBy('created_at').execute()
  return rows.map((row) => ({
    id: row.id,
    personId: row.person_id,
    credentialId: row.credential_id,
    publicKey: Buffer.from(row.public_key),
    signCount: row.sign_count,
    transports: JSON.parse(row.transports) as string[],
  }))
}
