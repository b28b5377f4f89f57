import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { bodyOf, newSender, passDays, publish, sweep } from '../../../../test/conformance/retention.ts'
import { newSqliteWorld } from '../../../../test/conformance/sqlite-world.ts'
import { accept } from '../../../../test/conformance/storage-world.ts'

describe('deleting by age on SQLite', () => {
  it('gives no number twice, however much was deleted: the newest row stays', async () => {
    const world = await newSqliteWorld()
    const sender = await newSender(world)
    for (let i = 0; i < 3; i++) await publish(world, sender)
    const [before] = await world.sql('select max(sequence) as sequence from message')
    await passDays(world, 100)
    await sweep(world)

    const id = await accept(world, sender)
    const rows = await world.sql('select id, sequence from message order by sequence')

    assert.equal(rows.length, 2)
    assert.deepEqual(rows.at(-1)?.['id'], id)
    assert.equal(rows.at(-1)?.['sequence'], Number(before?.['sequence']) + 1)
    await world.close()
  })

  it('leaves nothing of a text in the file', async () => {
    const world = await newSqliteWorld()
    const sender = await newSender(world)
    const id = await publish(world, sender, { text: 'the very secret of Zanzibar' })
    await passDays(world, 31)
    await sweep(world)
    const [{ file }] = (await world.sql(`select file from pragma_database_list where name = 'main'`)) as [
      { file: string },
    ]
    await world.sql('pragma wal_checkpoint(truncate)')

    const { readFileSync } = await import('node:fs')
    assert.equal(await bodyOf(world, id), '')
    assert.equal(readFileSync(file).includes('Zanzibar'), false)
    await world.close()
  })

  it('finds what is next by a key, however much there is', async () => {
    const world = await newSqliteWorld()
    const plan = await world.sql(
      `explain query plan select sequence, body from message m where m.sequence > 5 and m.account_id = 'a' order by m.sequence limit 9`,
    )
    const details = plan.map(({ detail }) => String(detail)).join()

    assert.match(details, /message_of_account \(account_id=\? AND rowid>\?\)/)
    assert.doesNotMatch(details, /TEMP B-TREE/)
    await world.close()
  })
})
