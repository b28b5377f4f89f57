import { hash, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createToken, tokenPrefix } from '../src/core/token/token-format.ts'
import { newConnectionId } from '../src/storage/shared/new-id.ts'
import { openAdministration } from '../src/storage/sqlite/open-administration.ts'
import { openDatabase } from '../src/storage/sqlite/open-database.ts'
import { settingsFor } from './settings-for.ts'

export interface MadeData {
  readonly dataDir: string
  readonly databasePath: string
  readonly accountId: string
  readonly token: string
  /** Sorted by id, as the lanes lie in the database. */
  readonly connections: readonly { readonly id: string; readonly number: string }[]
  readonly numbers: readonly string[]
}

export interface WantedData {
  readonly dataDir: string
  readonly connections: number
  readonly channel: 'sandbox' | 'instant'
  readonly state: 'active' | 'paused'
}

const FIRST_NUMBER = 15_550_100_000

/** A fresh data folder with one account, its connections and a token. */
export async function makeData(wanted: WantedData): Promise<MadeData> {
  const databasePath = join(settingsFor(wanted.dataDir).dataDir, 'nuncio.db')
  const storage = openAdministration(databasePath, { create: true, now: () => Date.now() })
  const account = await storage.administration.createAccount('Bench', 'bench')
  const token = createToken(randomBytes)
  await storage.administration.createToken(
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
  storage.close()
  const connections = addConnections(databasePath, account.id, wanted)
  const numbers = connections.map(({ number }) => number)
  return { dataDir: wanted.dataDir, databasePath, accountId: account.id, token, connections, numbers }
}

/** In one transaction: ten thousand of them through the command line would take a minute. */
function addConnections(databasePath: string, accountId: string, { connections, channel, state }: WantedData) {
  const database = openDatabase(databasePath, { create: false })
  const insert = database.prepare(
    `insert into connection (id, account_id, number, channel, state, policy, channel_settings, created_at)
       values (?, ?, ?, ?, ?, '{}', '{}', ?)`,
  )
  const ids = Array.from({ length: connections }, () => newConnectionId()).toSorted()
  const made = ids.map((id, place) => ({ id, number: String(FIRST_NUMBER + place) }))
  database.exec('begin immediate')
  for (const { id, number } of made) insert.run(id, accountId, number, channel, state, Date.now())
  database.exec('commit')
  database.close()
  return made
}

/** Hands all lanes to the instant channel, and lets them go. */
export function activateAll({ databasePath }: MadeData): void {
  const database = openDatabase(databasePath, { create: false })
  database.exec(`update connection set state = 'active', channel = 'instant'`)
  database.close()
}
