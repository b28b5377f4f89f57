import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { KeptPostgres } from '../conformance/postgres-world.ts'
import { accept, addSender, candidate } from '../conformance/storage-world.ts'

const COUNTS = `select (select count(*) from account)::int as accounts, (select count(*) from message)::int as messages,
  (select count(*) from audit)::int as audited, (select now from hand_clock)::text as now, (select count(*) from watch)::int as watched`

const { newWorld } = new KeptPostgres()

describe('a database that tests use one after another', () => {
  it('is as new for the next test', async () => {
    const first = await newWorld()
    const fresh = await first.sql(COUNTS)
    const mark = await first.sql('select mark from rights')
    const sender = await addSender(first)
    await accept(first, sender)
    await first.clock.pass(60_000)
    await first.sql(`update rights set mark = 'other'`)
    const used = await first.sql(COUNTS)
    await first.close()

    const second = await newWorld()

    assert.equal(second.url, first.url)
    assert.notDeepEqual(used, fresh)
    assert.deepEqual(await second.sql(COUNTS), fresh)
    assert.deepEqual(await second.sql('select mark from rights'), mark)
    const again = await addSender(second)
    assert.equal((await second.intake.accept(candidate(second, again))).kind, 'accepted')
    await second.close()
  })

  it.each([
    ['a function', 'create function more() returns integer language sql as $$ select 1 $$'],
    ['a table less', 'drop table tally_hour'],
    ['another partition', 'update hand_clock set now = now + 86400000; select open_period()'],
    [
      'a setting',
      `do $$ begin execute format('alter database %I set statement_timeout = 9000', current_database()); end $$`,
    ],
  ])('is not used again when a test leaves %s', async (_, sql) => {
    const first = await newWorld()
    await first.sql(sql)
    await first.close()

    const second = await newWorld()

    assert.notEqual(second.url, first.url)
    await second.close()
  })

  it('is a separate one for each of two worlds that are open at once', async () => {
    const [one, other] = [await newWorld(), await newWorld()]

    assert.notEqual(one.url, other.url)
    await one.close()
    await other.close()
  })
})
