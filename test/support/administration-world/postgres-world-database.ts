import pg from 'pg'
import { expect } from 'vitest'
import type { Instant } from '../../../src/core/ids.ts'
import { openAdministration } from '../../../src/storage/postgres/queries/open-administration.ts'
import { openMigratedDatabase } from './migrated-database.ts'
import type { WorldDatabase } from './world-database.ts'

const BIGINT_OID = 20

let shared: { readonly file: string; readonly url: Promise<string> } | null = null

/**
 * The tests of a file share one database, which is emptied for each test: creating one takes longer than most tests. Each file
 * has its own, because tables that always have one row are not emptied. The databases go with the server.
 */
function sharedUrl(): Promise<string> {
  const file = expect.getState().testPath ?? ''
  if (shared?.file !== file) shared = { file, url: openMigratedDatabase().then(({ url }) => url) }
  return shared.url
}

export async function openPostgresWorldDatabase(now: () => Instant): Promise<WorldDatabase> {
  const url = await sharedUrl()
  const client = new pg.Client({
    connectionString: url,
    types: {
      getTypeParser: (oid, format) => (oid === BIGINT_OID ? Number : pg.types.getTypeParser(oid, format)),
    },
  })
  client.on('error', () => {})
  await client.connect()
  await client.query(`${EMPTIED.map((table) => `delete from ${table};`).join('')} listen nuncio_change`)
  const changed: string[] = []
  client.on('notification', ({ payload = '' }) => void changed.push(payload))
  const visit = await openAdministration({ url, migrateUrl: url }, { create: false, now })
  return {
    administration: visit.administration,
    store: visit.store,
    attempts: 'ended_attempt',
    async run(sql, ...values) {
      await client.query(numbered(sql), [...values])
    },
    async all(sql, ...values) {
      return (await client.query<Record<string, unknown>>(numbered(sql), [...values])).rows
    },
    async insertOfLane(table, row) {
      const names = Object.keys(row)
      await client.query(
        `insert into ${table} (${names.join()}, account_id)
           select ${names.map((_, at) => `$${at + 1}`).join()}, account_id from connection where id = $1`,
        Object.values(row),
      )
    },
    async rewriteMessage(sequence, values) {
      const sets = Object.keys(values).map((name, at) => `${name} = $${at + 2}`)
      const { rowCount } = await client.query('select from queued where sequence = $1', [sequence])
      const table = rowCount === 1 ? 'queued' : 'settled'
      await client.query(`update ${table} set ${sets.join()} where sequence = $1`, [sequence, ...Object.values(values)])
    },
    async leaveGap() {
      await client.query(`select setval('message_block', nextval('message_block') + 1000)`)
    },
    async changedLanes() {
      // Notifications sent before this statement arrive with its reply at the latest.
      await client.query('select 1')
      return changed
    },
    async close() {
      await visit.close()
      await client.end()
    },
  }
}

const EMPTIED = [
  'delivery_try',
  'delivery',
  'notice',
  'notice_want',
  'webhook',
  'account_retention',
  'blocked_recipient',
  'block_list',
  'sign_in_ticket',
  'sign_in_throttle',
  'known_device',
  'recovery_code',
  'passkey',
  'totp',
  'person_link',
  'session',
  'membership',
  'person',
  'media',
  'timeline',
  'request',
  'accept_commit',
  'ended_attempt',
  'lane_attempt',
  'lane',
  'idempotency',
  'queued',
  'settled',
  'channel_memory',
  'channel_session',
  'channel_session_key',
  'session_status',
  'session_request',
  'token',
  'connection',
  'account',
  'worker',
  'hold',
  'standstill',
  'key_ring',
  'audit',
  'tally',
  'tally_reason',
  'tally_hour',
  'alarm',
]

function numbered(sql: string): string {
  let number = 0
  return sql.replaceAll('?', () => `$${++number}`)
}
