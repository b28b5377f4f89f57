import { Client } from 'pg'
import type { ConnectionId, MessageId } from '../../../src/core/ids.ts'
import { migrateDatabase } from '../../../src/storage/postgres/connection/open-database.ts'
import { memoryFolder } from '../../support/postgres/memory-folder.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import { fillDatabase } from './fill-database.ts'
import { PlanLog } from './plan-log.ts'

/** A server of the tests' own with five million messages, on which every plan is logged. */
export interface GrownDatabase {
  readonly url: string
  readonly log: PlanLog
  readonly session: Client
  close(): Promise<void>
}

const NAME = 'growth'

export async function openGrownDatabase(): Promise<GrownDatabase> {
  const server = await PostgresServer.open({
    parentFolder: memoryFolder(),
    settings: {
      ...PlanLog.settings,
      // With this, data written in the transaction that truncates its table need no log.
      wal_level: 'minimal',
      max_wal_senders: 0,
      max_wal_size: '8GB',
      maintenance_work_mem: '512MB',
      shared_buffers: '1GB',
      // The tests decide when statistics exist.
      autovacuum: false,
    },
  })
  try {
    const url = await server.createDatabase(NAME)
    await migrateDatabase({ url, migrateUrl: url })
    const fillers: [Client, Client] = [new Client(url), new Client(url)]
    await Promise.all(fillers.map((filler) => filler.connect()))
    await fillDatabase(fillers)
    // Autovacuum does this after as many rows. After it an index alone shows what is visible.
    await fillers[0].query('vacuum queued')
    await Promise.all(fillers.map((filler) => filler.end()))
    const log = await PlanLog.open(server, NAME)
    const session = new Client({ connectionString: url, application_name: 'test' })
    await session.connect()
    const close = async () => {
      await session.end()
      await server.close()
    }
    return { url, log, session, close }
  } catch (error) {
    await server.close()
    throw error
  }
}

export interface SomeMessage {
  readonly id: MessageId
  readonly connectionId: ConnectionId
}

/**
 * Returns messages that ended four days ago and today (each some hours from midnight), one that waits since yesterday, and the
 * latest one.
 */
export async function someMessages(session: Client): Promise<readonly SomeMessage[]> {
  const { rows } = await session.query<SomeMessage>(
    `select id, connection_id as "connectionId" from settled where sequence in ((4::bigint << 40) + 200000, (8::bigint << 40) + 200000)
     union all (select id, connection_id from queued order by sequence limit 1)
     union all (select id, connection_id from queued order by sequence desc limit 1)`,
  )
  return rows
}
