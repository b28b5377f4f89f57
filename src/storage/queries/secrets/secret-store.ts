import { sql, type UpdateResult } from 'kysely'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { KeyFacts, SecretRow, SecretStore } from '../../../core/ports/secrets.ts'
import { change, type Reader, type Store, writeAudit } from '../store.ts'

export function createSecretStore(store: Store): SecretStore {
  const { database } = store
  return {
    async readKeyFacts() {
      const { rows } = await sql.raw<Record<string, unknown>>(KEY_FACTS).execute(database)
      return toKeyFacts(rows[0])
    },
    async addCanary({ keyId, sealed }) {
      await database
        .insertInto('key_ring')
        .values({ only: 1, key_id: keyId, canary: sealed })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
    },
    async replaceCanary({ keyId, sealed }) {
      await database.updateTable('key_ring').set({ key_id: keyId, canary: sealed }).execute()
    },
    async listSecrets(kind, after, limit) {
      return (await KINDS[kind].list(database, after, limit)).map((row) => ({ kind, ...row }))
    },
    async replaceSecrets(row, texts) {
      return (await KINDS[row.kind].replace(database, row, texts)?.executeTakeFirst())?.numUpdatedRows === 1n
    },
    noteKeyChange: (action, keyId, by) =>
      change(store, by, (making) =>
        writeAudit(making, { action: `secrets.${action}`, object: keyId, accountId: null }),
      ),
  }
}

interface Secrets {
  list(tables: Reader, after: string | null, limit: number): Promise<readonly Omit<SecretRow, 'kind'>[]>
  /** Changes the row only where it is still as it was read. Null: there is nothing to change. */
  replace(tables: Reader, row: SecretRow, texts: Readonly<Record<string, string>>): Update | null
}

interface Update {
  executeTakeFirst(): Promise<UpdateResult>
}

const CONNECTIONS: Secrets = {
  async list(tables, after, limit) {
    const rows = await tables
      .selectFrom('connection')
      .select(['id as owner', 'account_id as accountId', 'channel_settings as version'])
      .where('id', '>', (after ?? '') as ConnectionId)
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map((row) => ({ ...row, texts: textsOf(JSON.parse(row.version) as Record<string, unknown>) }))
  },
  replace(tables, { owner, version }, texts) {
    const settings = { ...(JSON.parse(version) as Record<string, unknown>), ...texts }
    return tables
      .updateTable('connection')
      .set({ channel_settings: JSON.stringify(settings) })
      .where('id', '=', owner as ConnectionId)
      .where('channel_settings', '=', version)
  },
}

function textsOf(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

const SECOND_FACTORS: Secrets = {
  async list(tables, after, limit) {
    const rows = await tables
      .selectFrom('totp')
      .select(['person_id as owner', 'secret', 'begun_secret'])
      .where('person_id', '>', after ?? '')
      .orderBy('person_id')
      .limit(limit)
      .execute()
    return rows.map(({ owner, secret, begun_secret }) => {
      const texts = { ...asText('secret', secret), ...asText('begun_secret', begun_secret) }
      return { accountId: null, owner, texts, version: JSON.stringify(texts) }
    })
  },
  replace(tables, { owner, version }, texts) {
    const before = JSON.parse(version) as Record<string, string>
    let query = tables.updateTable('totp').where('person_id', '=', owner)
    for (const column of ['secret', 'begun_secret'] as const) {
      const was = before[column]
      query = was === undefined ? query.where(column, 'is', null) : query.where(column, '=', asBytes(was))
      const becomes = texts[column]
      if (becomes !== undefined) query = query.set({ [column]: asBytes(becomes) })
    }
    return query
  },
}

/** Decodes as Latin-1, which keeps sealed text as it is and loses no byte of other values. */
function asText(name: string, bytes: Uint8Array | null): Record<string, string> {
  return bytes ? { [name]: Buffer.from(bytes).toString('latin1') } : {}
}

function asBytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

const BLOCK_LISTS: Secrets = {
  async list(tables, after, limit) {
    const rows = await tables
      .selectFrom('block_list')
      .select(['account_id', 'hash_key'])
      .where('account_id', '>', (after ?? '') as AccountId)
      .orderBy('account_id')
      .limit(limit)
      .execute()
    return rows.map(({ account_id: id, hash_key }) => ({
      accountId: id,
      owner: id,
      texts: hash_key === null ? {} : { hash_key },
      version: hash_key ?? '',
    }))
  },
  /** The list itself has not changed: services that know the old text can open it as well. */
  replace: (tables, { owner, version }, { hash_key }) =>
    hash_key === undefined
      ? null
      : tables
          .updateTable('block_list')
          .set({ hash_key })
          .where('account_id', '=', owner as AccountId)
          .where('hash_key', '=', version),
}

const WEBHOOKS: Secrets = {
  async list(tables, after, limit) {
    const rows = await tables
      .selectFrom('webhook')
      .select(['id as owner', 'account_id as accountId', 'secret', 'old_secret'])
      .where('id', '>', after ?? '')
      .where('state', '<>', 'removed')
      .orderBy('id')
      .limit(limit)
      .execute()
    return rows.map(({ owner, accountId, secret, old_secret }) => {
      const texts = { secret, ...(old_secret !== null && { old_secret }) }
      return { accountId, owner, texts, version: JSON.stringify(texts) }
    })
  },
  replace(tables, { accountId, owner, version }, texts) {
    const before = JSON.parse(version) as { readonly secret: string; readonly old_secret?: string }
    return tables
      .updateTable('webhook')
      .set({ ...texts })
      .where('account_id', '=', accountId as AccountId)
      .where('id', '=', owner)
      .where('secret', '=', before.secret)
      .where('old_secret', before.old_secret === undefined ? 'is' : '=', before.old_secret ?? null)
  },
}

const SESSIONS: Secrets = {
  async list(tables, after, limit) {
    const rows = await tables
      .selectFrom('channel_session as s')
      .innerJoin('connection as c', 'c.id', 's.connection_id')
      .select(['s.connection_id as owner', 'c.account_id as accountId', 's.data_key as version'])
      .where('s.connection_id', '>', (after ?? '') as ConnectionId)
      .orderBy('s.connection_id')
      .limit(limit)
      .execute()
    return rows.map((row) => ({ ...row, texts: { data_key: row.version } }))
  },
  /** Only the seal changes: a worker that has the session open goes on with the same data key. */
  replace: (tables, { owner, version }, { data_key }) =>
    data_key === undefined
      ? null
      : tables
          .updateTable('channel_session')
          .set({ data_key })
          .where('connection_id', '=', owner as ConnectionId)
          .where('data_key', '=', version),
}

const KINDS: Readonly<Record<SecretRow['kind'], Secrets>> = {
  connection: CONNECTIONS,
  'second-factor': SECOND_FACTORS,
  'block-list': BLOCK_LISTS,
  webhook: WEBHOOKS,
  session: SESSIONS,
}

/** One row, in the words of both engines. */
export const KEY_FACTS = `select (select key_id from key_ring) as key_id, (select canary from key_ring) as canary`

export function toKeyFacts(row: Readonly<Record<string, unknown>> | undefined): KeyFacts {
  const keyId = row?.['key_id']
  return { canary: typeof keyId === 'string' ? { keyId, sealed: String(row?.['canary']) } : null }
}
