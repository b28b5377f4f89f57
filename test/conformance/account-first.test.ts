import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld } from './postgres-world.ts'

// Tables whose key does not begin with the account, with the reason.
const EXCEPTIONS: Readonly<Record<string, string>> = {
  account: 'its id is the account',
  connection: 'its id is unique over all accounts, and lanes and messages refer to it by that id',
  token: 'it is looked up before the account is known',
  lane: 'one row for each connection, by whose id workers claim it',
  lane_attempt: 'at most one row for each connection: the key enforces that (G2)',
  ended_attempt: 'its key begins with the sequence of its message, by which it is partitioned and always queried',
  timeline: 'as ended_attempt',
  notice: 'its key is the order of creation; those of an account are found by their object',
  channel_memory: 'all workers read the state of a channel in the order of its entries',
  channel_session: 'one row for each connection, by whose id the holder of its lane opens it',
  channel_session_key: 'as channel_session',
  session_status: 'as channel_session',
  session_request: 'as channel_session',
  standstill: 'a row is about one lane or about all lanes, and is read for one of them',
  leftover_file: 'a file of a spool, for a message of any account',
  accept_commit: 'one commit accepts for many accounts',
  audit: 'people also act on the whole installation',
  worker: 'a process serves all accounts',
  fence: 'it belongs to a worker',
  period: 'it is a range of time',
  tally_hour: 'an hour is counted for all accounts at once',
  person: 'a person belongs to several accounts',
  session: 'it belongs to a person',
  person_link: 'it is looked up by its hash before the person is known',
  totp: 'it belongs to a person',
  passkey: 'it belongs to a person',
  recovery_code: 'it belongs to a person',
  known_device: 'it belongs to a person',
  sign_in_throttle: 'it counts before the person is known',
  sign_in_ticket: 'as sign_in_throttle',
  alarm: 'some alarms are about the whole installation',
  watch: 'one row for the whole database',
  hold: 'one row for all lanes',
  checkpoint: 'one row for the whole database',
  rights: 'one row for the whole database',
  known_server: 'one row for the server of the database',
  key_ring: 'one row for the whole database, by which the right key ring is recognised',
  retention_state: 'one row for the whole database',
  migration: 'it belongs to the schema',
  applied_functions: 'one row for the schema',
}

describe('the tables on PostgreSQL', () => {
  it('have the account first in their key, except those with a reason', async () => {
    const world = await newPostgresWorld()
    const session = await world.session()
    const { rows } = await session.query<{ name: string; first: string | null }>(
      `select c.relname as name, a.attname as first from pg_class c
         left join pg_index i on i.indrelid = c.oid and i.indisprimary
         left join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
         where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = current_schema()::regnamespace
           and c.relname <> 'hand_clock'`,
    )

    const others = rows.filter(({ first }) => first !== 'account_id').map(({ name }) => name)
    assert.deepEqual(others.toSorted(), Object.keys(EXCEPTIONS).toSorted())
    await world.close()
  })
})
