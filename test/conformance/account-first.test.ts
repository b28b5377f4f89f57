import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld } from './postgres-world.ts'

// Tables whose key does not begin with the account, and why.
const EXCEPTIONS: Readonly<Record<string, string>> = {
  account: 'its id is the account',
  connection: 'its id is unique over all accounts, and is what lanes and messages name it by',
  token: 'it is looked up before anybody knows the account: the account is what it tells',
  lane: 'one of each connection, by whose id workers claim it',
  lane_attempt: 'at most one of each connection: the key enforces that (G2)',
  ended_attempt: 'its first column is the sequence of its message, by which it is partitioned and always sought',
  timeline: 'as ended_attempt',
  notice: 'its key is the order in which things were noted; those of an account are found by what they are of',
  channel_memory: 'what a channel remembers in the order of its entries, read by all workers',
  channel_session: 'one of each connection, by whose id the worker that holds its lane opens it',
  channel_session_key: 'as channel_session',
  session_status: 'as channel_session',
  session_request: 'as channel_session',
  standstill: 'of one lane or of all lanes, and read for one of them',
  leftover_file: 'a file of a spool, whosever message it was of',
  accept_commit: 'one commit accepts for many accounts',
  audit: 'people act on the whole installation too',
  worker: 'a process serves all accounts',
  fence: 'of a worker',
  period: 'a stretch of time',
  tally_hour: 'when an hour was counted, of all accounts at once',
  person: 'a person belongs to several accounts',
  session: 'of a person',
  person_link: 'looked up by its hash before anybody knows whose it is',
  totp: 'of a person',
  passkey: 'of a person',
  recovery_code: 'of a person',
  known_device: 'of a person',
  sign_in_throttle: 'counted before anybody knows who it is',
  sign_in_ticket: 'as sign_in_throttle',
  alarm: 'the whole installation has some, too',
  watch: 'one row, of the whole database',
  hold: 'one row, of all lanes',
  checkpoint: 'one row, of the whole database',
  rights: 'one row, of the whole database',
  known_server: 'one row, of the server that the whole database is on',
  key_ring: 'as checkpoint: by it a ring of keys is known to be the right one',
  retention_state: 'one row, of the whole database',
  migration: 'of the schema',
  applied_functions: 'one row, of the schema',
}

describe('the tables on PostgreSQL', () => {
  it('have the account first in their key, but for those with a reason', async () => {
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
