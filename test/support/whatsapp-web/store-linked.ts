import type { AccountId, ConnectionId } from '../../../src/core/ids.ts'
import type { Secrets } from '../../../src/core/ports/secrets.ts'
import type { SessionKey, SessionRows } from '../../../src/core/ports/session-store.ts'
import { EncryptedSessionStore } from '../../../src/secrets/session-store.ts'
import type { Stranger } from '../journey/engines.ts'
import { LibraryClient } from './library-client.ts'
import type { Simulator } from './simulator.ts'

const ROWS_AT_ONCE = 200
// The database has never held its lanes.
const HOLDS = 0

interface Place {
  /** Writes to the database without the service, which may be running. */
  readonly stranger: Stranger
  readonly isPostgres: boolean
  readonly secrets: Secrets
}

/** Links a number, and stores its session as the service would have done. */
export async function storeLinked(place: Place, simulator: Simulator, number: string): Promise<ConnectionId> {
  const [row] = await place.stranger.run(`select id, account_id from connection where number = '${number}'`)
  const lane = { connectionId: row?.['id'] as ConnectionId, accountId: row?.['account_id'] as AccountId, epoch: 0 }
  const client = await LibraryClient.link(simulator, number)
  await client.end()
  const linked = rowsOf(place)
  const session = await new EncryptedSessionStore({ rows: linked.rows, secrets: place.secrets }).open(lane)
  const { rows } = client.state
  await session?.write({ credentials: Buffer.from(rows.get('creds') ?? '') })
  const keys = [...rows].filter(([name]) => name !== 'creds').map(([name, text]) => keyOf(name, text))
  for (let from = 0; from < keys.length; from += ROWS_AT_ONCE)
    await session?.write({ keys: keys.slice(from, from + ROWS_AT_ONCE) })
  await linked.finish()
  return lane.connectionId
}

/** The key of the library that this row of the client stands for. */
export function keyOf(row: string, text: string): SessionKey {
  const [kind = '', ...id] = row.split('/')
  return { kind, id: id.join('/'), recipient: null, value: Buffer.from(text) }
}

/** `finish` stores the session itself, after its keys: a lane can be claimed as soon as it has a session. */
function rowsOf({ stranger, isPostgres }: Place): { readonly rows: SessionRows; finish(): Promise<unknown> } {
  const bytes = (value: Uint8Array) => {
    const hex = Buffer.from(value).toString('hex')
    return isPostgres ? `'\\x${hex}'::bytea` : `x'${hex}'`
  }
  let session = ''
  const rows: SessionRows = {
    find: async () => ({ holds: HOLDS, row: null }),
    read: async () => new Map(),
    async write({ connectionId }, { credentials, dataKey, keys = [] }) {
      if (credentials) session = `'${connectionId}', '${dataKey}', ${bytes(credentials)}, ${HOLDS}`
      const values = keys.map(
        ({ kind, id, value }) => `('${connectionId}', '${kind}', '${id}', ${bytes(value ?? Buffer.alloc(0))})`,
      )
      if (values.length > 0)
        await stranger.run(`insert into channel_session_key (connection_id, kind, id, value) values ${values.join()}`)
      return true
    },
    remove: async () => true,
    findRequest: async () => null,
    report: async () => false,
    writeStatus: async () => {},
  }
  const finish = () =>
    stranger.run(`insert into channel_session (connection_id, data_key, credentials, holds) values (${session})`)
  return { rows, finish }
}
