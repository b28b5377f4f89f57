import { sql } from 'kysely'
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
    listSecrets: (kind, after, limit) => LISTS[kind](database, after, limit),
    replaceSecrets: (row, texts) => REPLACEMENTS[row.kind](database, row, texts),
    noteKeyChange: (action, keyId, by) =>
      change(store, by, (making) =>
        writeAudit(making, { action: `secrets.${action}`, object: keyId, accountId: null }),
      ),
  }
}

async function listOfConnections(tables: Reader, after: string | null, limit: number): Promise<readonly SecretRow[]> {
  const rows = await tables
    .selectFrom('connection')
    .select(['id', 'account_id', 'channel_settings'])
    .where('id', '>', (after ?? '') as ConnectionId)
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    kind: 'connection',
    accountId: row.account_id,
    owner: row.id,
    texts: textsOf(JSON.parse(row.channel_settings) as Record<string, unknown>),
    version: row.channel_settings,
  }))
}

function textsOf(settings: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
}

async function replaceOfConnection(
  tables: Reader,
  { owner, version }: SecretRow,
  texts: Readonly<Record<string, string>>,
): Promise<boolean> {
  const settings = { ...(JSON.parse(version) as Record<string, unknown>), ...texts }
  const { numUpdatedRows } = await tables
    .updateTable('connection')
    .set({ channel_settings: JSON.stringify(settings) })
    .where('id', '=', owner as ConnectionId)
    .where('channel_settings', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function listOfPeople(tables: Reader, after: string | null, limit: number): Promise<readonly SecretRow[]> {
  const rows = await tables
    .selectFrom('totp')
    .select(['person_id', 'secret', 'begun_secret'])
    .where('person_id', '>', after ?? '')
    .orderBy('person_id')
    .limit(limit)
    .execute()
  return rows.map(({ person_id: owner, secret, begun_secret }) => {
    const texts = { ...asText('secret', secret), ...asText('begun_secret', begun_secret) }
    return { kind: 'second-factor', accountId: null, owner, texts, version: JSON.stringify(texts) }
  })
}

/** Decodes as Latin-1, which keeps sealed text as it is and loses no byte of other values. */
function asText(name: string, bytes: Uint8Array | null): Record<string, string> {
  return bytes ? { [name]: Buffer.from(bytes).toString('latin1') } : {}
}

async function replaceOfPerson(
  tables: Reader,
  { owner, version }: SecretRow,
  texts: Readonly<Record<string, string>>,
): Promise<boolean> {
  const before = JSON.parse(version) as Record<string, string>
  let query = tables.updateTable('totp').where('person_id', '=', owner)
  for (const column of ['secret', 'begun_secret'] as const) {
    const was = before[column]
    query = was === undefined ? query.where(column, 'is', null) : query.where(column, '=', asBytes(was))
    const becomes = texts[column]
    if (becomes !== undefined) query = query.set({ [column]: asBytes(becomes) })
  }
  const { numUpdatedRows } = await query.executeTakeFirst()
  return numUpdatedRows === 1n
}

async function listOfBlockLists(tables: Reader, after: string | null, limit: number): Promise<readonly SecretRow[]> {
  const rows = await tables
    .selectFrom('block_list')
    .select(['account_id', 'hash_key'])
    .where('account_id', '>', (after ?? '') as AccountId)
    .orderBy('account_id')
    .limit(limit)
    .execute()
  return rows.map(({ account_id: accountId, hash_key: key }) => ({
    kind: 'block-list',
    accountId,
    owner: accountId,
    texts: key === null ? {} : { hash_key: key },
    version: key ?? '',
  }))
}

/** The list itself has not changed: services that know the old text can open it as well. */
async function replaceOfBlockList(
  tables: Reader,
  { owner, version }: SecretRow,
  { hash_key: key }: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (key === undefined) return false
  const { numUpdatedRows } = await tables
    .updateTable('block_list')
    .set({ hash_key: key })
    .where('account_id', '=', owner as AccountId)
    .where('hash_key', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

const LISTS = {
  connection: listOfConnections,
  'second-factor': listOfPeople,
  'block-list': listOfBlockLists,
  webhook: listOfWebhooks,
  session: listOfSessions,
}
const REPLACEMENTS = {
  connection: replaceOfConnection,
  'second-factor': replaceOfPerson,
  'block-list': replaceOfBlockList,
  webhook: replaceOfWebhook,
  session: replaceOfSession,
}

function asBytes(text: string): Buffer {
  return Buffer.from(text, 'latin1')
}

async function listOfWebhooks(tables: Reader, after: string | null, limit: number): Promise<readonly SecretRow[]> {
  const rows = await tables
    .selectFrom('webhook')
    .select(['id', 'account_id', 'secret', 'old_secret'])
    .where('id', '>', after ?? '')
    .where('state', '<>', 'removed')
    .orderBy('id')
    .limit(limit)
    .execute()
  return rows.map(({ id: owner, account_id: accountId, secret, old_secret }) => {
    const texts = { secret, ...(old_secret !== null && { old_secret }) }
    return { kind: 'webhook', accountId, owner, texts, version: JSON.stringify(texts) }
  })
}

async function replaceOfWebhook(
  tables: Reader,
  { accountId, owner, version }: SecretRow,
  texts: Readonly<Record<string, string>>,
): Promise<boolean> {
  const before = JSON.parse(version) as { readonly secret: string; readonly old_secret?: string }
  const { numUpdatedRows } = await tables
    .updateTable('webhook')
    .set({ ...texts })
    .where('account_id', '=', accountId as AccountId)
    .where('id', '=', owner)
    .where('secret', '=', before.secret)
    .where('old_secret', before.old_secret === undefined ? 'is' : '=', before.old_secret ?? null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

async function listOfSessions(tables: Reader, after: string | null, limit: number): Promise<readonly SecretRow[]> {
  const rows = await tables
    .selectFrom('channel_session as s')
    .innerJoin('connection as c', 'c.id', 's.connection_id')
    .select(['s.connection_id', 'c.account_id', 's.data_key'])
    .where('s.connection_id', '>', (after ?? '') as ConnectionId)
    .orderBy('s.connection_id')
    .limit(limit)
    .execute()
  return rows.map(({ connection_id: owner, account_id: accountId, data_key: version }) => ({
    kind: 'session',
    accountId,
    owner,
    texts: { data_key: version },
    version,
  }))
}

/** Only the seal changes: a worker that has the session open goes on with the same data key. */
async function replaceOfSession(
  tables: Reader,
  { owner, version }: SecretRow,
  { data_key: key }: Readonly<Record<string, string>>,
): Promise<boolean> {
  if (key === undefined) return false
  const { numUpdatedRows } = await tables
    .updateTable('channel_session')
    .set({ data_key: key })
    .where('connection_id', '=', owner as ConnectionId)
    .where('data_key', '=', version)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** One row, in the words of both engines. */
export const KEY_FACTS = `select (select key_id from key_ring) as key_id, (select canary from key_ring) as canary`

export function toKeyFacts(row: Readonly<Record<string, unknown>> | undefined): KeyFacts {
  const keyId = row?.['key_id']
  return { canary: typeof keyId === 'string' ? { keyId, sealed: String(row?.['canary']) } : null }
}
