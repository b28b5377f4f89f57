import { hash, randomBytes } from 'node:crypto'
import { createToken, tokenPrefix } from '../src/core/token/token-format.ts'
import { openAdministration } from '../src/server/wiring/open-administration.ts'
import { newConnectionId } from '../src/storage/queries/new-id.ts'
import { openDatabase } from '../src/storage/sqlite/connection/open-database.ts'
import type { EngineName } from './engine.ts'
import { ask } from './postgres-for-bench.ts'
import { settingsFor } from './settings-for.ts'

export interface MadeData {
  readonly engine: EngineName
  readonly dataDir: string
  /** The file of SQLite, or the URL of the database on PostgreSQL. */
  readonly database: string
  /** The settings with which a service uses it. */
  readonly environment: Readonly<Record<string, string>>
  readonly accountId: string
  readonly token: string
  /** Sorted by id, as the lanes are in the database. */
  readonly connections: readonly MadeConnection[]
  readonly numbers: readonly string[]
}

interface MadeConnection {
  readonly id: string
  readonly number: string
}

export interface WantedData {
  readonly engine: EngineName
  readonly connections: number
  readonly channel: 'sandbox' | 'instant'
  readonly state: 'active' | 'paused'
}

/** Where to create the data. */
interface EmptyPlace {
  readonly dataDir: string
  /** Null: the database is in the data folder. */
  readonly databaseUrl: string | null
}

const FIRST_NUMBER = 15_550_100_000
const INSERT = `insert into connection (id, account_id, number, channel, state, policy, channel_settings, created_at)`

/** Creates one account, its connections and a token. */
export async function makeData(wanted: WantedData, { dataDir, databaseUrl }: EmptyPlace): Promise<MadeData> {
  const environment: Record<string, string> = databaseUrl === null ? {} : { NUNCIO_DATABASE_URL: databaseUrl }
  const settings = settingsFor(dataDir, environment)
  const session = await openAdministration(settings, { create: true })
  const account = await session.administration.createAccount('Bench', 'bench')
  const token = createToken(randomBytes)
  await session.administration.createToken(
    {
      accountId: account.id,
      name: 'bench',
      events: ['messaging.send_message'],
      expiresAt: Date.now() + 86_400_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: hash('sha256', token, 'buffer'),
      prefix: tokenPrefix(token),
    },
    'bench',
  )
  await session.close()
  const database = settings.database.engine === 'sqlite' ? settings.database.path : settings.database.url
  const ids = Array.from({ length: wanted.connections }, () => newConnectionId()).toSorted()
  const connections = ids.map((id, place) => ({ id, number: String(FIRST_NUMBER + place) }))
  const data = { engine: wanted.engine, dataDir, database, environment, accountId: account.id, token, connections }
  await addConnections(data, wanted)
  return { ...data, numbers: connections.map(({ number }) => number) }
}

type Connected = Pick<MadeData, 'engine' | 'database' | 'accountId' | 'connections'>

/** In one transaction: adding ten thousand connections with the command line would take a minute. */
async function addConnections(data: Connected, { channel, state }: WantedData): Promise<void> {
  const { engine, database, accountId, connections } = data
  if (engine === 'postgres') {
    const [ids, numbers] = [connections.map(({ id }) => id), connections.map(({ number }) => number)]
    await ask(
      database,
      `${INSERT} select id, $3, number, $4, $5, '{}', '{}', $6 from unnest($1::text[], $2::text[]) given (id, number)`,
      [ids, numbers, accountId, channel, state, Date.now()],
    )
    return
  }
  const file = openDatabase(database, { create: false })
  const insert = file.prepare(`${INSERT} values (?, ?, ?, ?, ?, '{}', '{}', ?)`)
  file.exec('begin immediate')
  for (const { id, number } of connections) insert.run(id, accountId, number, channel, state, Date.now())
  file.exec('commit')
  file.close()
}

/** Moves all lanes to the instant channel, and releases them. */
export async function activateAll({ engine, database }: MadeData): Promise<void> {
  const sql = `update connection set state = 'active', channel = 'instant'`
  if (engine === 'postgres') return void (await ask(database, sql))
  const file = openDatabase(database, { create: false })
  file.exec(sql)
  file.close()
}
