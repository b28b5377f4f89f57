import assert from 'node:assert/strict'
import { it } from 'vitest'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { migrateDatabase } from '../connection/open-database.ts'

// There the small form of `I` is not `i`.
it('announces the end of a message in a database with a Turkish locale', async () => {
  const database = await openTestDatabase()
  const name = `${database.name}_turkish`
  const url = database.url.replace(database.name, name)
  await withClient(database.url, (client) =>
    client.query(`create database ${name} locale_provider icu icu_locale 'tr-TR' locale 'C' template template0`),
  )
  await migrateDatabase({ url, migrateUrl: url })

  const kinds = await withClient(url, async (client) => {
    await client.query(
      `insert into notice_want (account_id, kind) values ('acc', 'message.failed'), ('acc', 'message.unconfirmed');
       insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
         select (1::bigint << 40) + i, 'm' || i, 'acc', 'con', '{}', 0, '1', 'message', 0 from generate_series(1, 2) i;
       update message set state = case id when 'm1' then 'FAILED' else 'UNCONFIRMED' end`,
    )
    return (await client.query<{ kind: string }>('select kind from notice order by position')).rows
  })

  assert.deepEqual(
    kinds.map(({ kind }) => kind),
    ['message.failed', 'message.unconfirmed'],
  )
  await withClient(database.url, (client) => client.query(`drop database ${name} with (force)`))
  await database.drop()
})
