import { type RawBuilder, sql } from 'kysely'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { KeyFacts, SecretRow, SecretStore } from '../../../core/ports/secrets.ts'
import { change, type Reader, type Store, writeAudit } from '../store.ts'
import type { Tables } from '../tables.generated.ts'

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
    replaceSecrets: (row, texts) => KINDS[row.kind].replace(database, row, texts),
    noteKeyChange: (action, keyId, by) =>
      change(store, by, (making) =>
        writeAudit(making, { action: `secrets.${action}`, object: keyId, accountId: null }),
      ),
  }
}

interface Secrets {
  list(tables: Reader, after: string | null, limit: number): Promise<readonly Omit<SecretRow, 'kind'>[]>
  /** Changes the row only where it is still as it was read. False: it is not, or there is nothing to change. */
  replace(tables: Reader, row: SecretRow, texts: Readonly<Record<string, string>>): Promise<boolean>
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
  async replace(tables, { owner, version }, texts) {
    const settings = { ...(JSON.parse(version) as Record<string, unknown>), ...texts }
    const { numUpdatedRows } = await tables
      .updateTable('connection')
      .set({ channel_settings: JSON.stringify(settings) })
      .where('id', '=', owner as ConnectionId)
      .where('channel_settings', '=', version)
      .executeTakeFirst()
    return numUpdatedRows === 1n
  },
}

/** An empty text holds no secret: a removed webhook has one. */
function textsOf(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string' && entry[1] !== '',
    ),
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
  async replace(tables, { owner, version }, texts) {
    const before = JSON.parse(version) as Record<string, string>
    let query = tables.updateTable('totp').where('person_id', '=', owner)
    for (const column of ['secret', 'begun_secret'] as const) {
      const was = before[column]
      query = was === undefined ? query.where(column, 'is', null) : query.where(column, '=', asBytes(was))
      const becomes = texts[column]
      if (becomes !== undefined) query = query.set({ [column]: asBytes(becomes) })
    }
    return (await query.executeTakeFirst()).numUpdatedRows === 1n
  },
}

/** Decodes as Latin-1, which keeps sealed text as it is and loses no byte of other values. */
function asText(name: string, bytes: Uint8Array | null): Record<string, string> {
  return bytes ? { [name]: Buffer.from(bytes).toString('latin1') } : {}
}

function asBytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

interface InColumns {
  readonly table: keyof Tables
  readonly owner: string
  readonly account: RawBuilder<unknown>
  readonly columns: readonly string[]
}

/** Secrets that are stored as text in columns of their own. */
function inColumns({ table, owner, account, columns }: InColumns): Secrets {
  return {
    async list(tables, after, limit) {
      const { rows } = await sql<Record<string, string | null>>`
        select ${sql.ref(owner)} as owner, ${account} as account, ${sql.join(columns.map((name) => sql.ref(name)))}
          from ${sql.table(table)} where ${sql.ref(owner)} > ${after ?? ''} order by ${sql.ref(owner)} limit ${limit}`.execute(
        tables,
      )
      return rows.map(({ owner: id, account: accountId, ...found }) => {
        const texts = textsOf(found)
        return { accountId: accountId as AccountId, owner: id ?? '', texts, version: JSON.stringify(texts) }
      })
    },
    async replace(tables, row, texts) {
      const before = JSON.parse(row.version) as Readonly<Record<string, string>>
      const changes = Object.entries(texts).map(([name, text]) => sql`${sql.ref(name)} = ${text}`)
      const isAsRead = columns.map((name) => sql`${sql.ref(name)} is not distinct from ${before[name] ?? null}`)
      if (changes.length === 0) return false
      const { numAffectedRows } = await sql`update ${sql.table(table)} set ${sql.join(changes)}
        where ${sql.ref(owner)} = ${row.owner} and ${sql.join(isAsRead, sql` and `)}`.execute(tables)
      return numAffectedRows === 1n
    },
  }
}

const OWN_ACCOUNT = sql.ref('account_id')

const KINDS: Readonly<Record<SecretRow['kind'], Secrets>> = {
  connection: CONNECTIONS,
  'second-factor': SECOND_FACTORS,
  // The list itself does not change: services that know the old text can open it as well.
  'block-list': inColumns({ table: 'block_list', owner: 'account_id', account: OWN_ACCOUNT, columns: ['hash_key'] }),
  webhook: inColumns({ table: 'webhook', owner: 'id', account: OWN_ACCOUNT, columns: ['secret', 'old_secret'] }),
  // Only the seal changes: a worker that has the session open goes on with the same data key.
  session: inColumns({
    table: 'channel_session',
    owner: 'connection_id',
    account: sql`(select c.account_id from connection c where c.id = connection_id)`,
    columns: ['data_key'],
  }),
}

/** SQL for one row, for both engines. */
export const KEY_FACTS = `select (select key_id from key_ring) as key_id, (select canary from key_ring) as canary`

export function toKeyFacts(row: Readonly<Record<string, unknown>> | undefined): KeyFacts {
  const keyId = row?.['key_id']
  return { canary: typeof keyId === 'string' ? { keyId, sealed: String(row?.['canary']) } : null }
}
