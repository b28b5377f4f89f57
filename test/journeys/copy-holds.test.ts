import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, onTestFinished } from 'vitest'
import { CliOn } from '../support/journey/cli-on.ts'
import { NewHome } from '../support/journey/new-home.ts'
import { SENDER, startNuncio } from '../support/journey/start-nuncio.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

const TO = '15551234567'

const home = new NewHome()

describe('moving messages from SQLite that may have been sent already', () => {
  it.each([
    ['put back', (dataDir: string) => join(dataDir, 'nuncio.db')],
    ['somewhere else, such as in a backup', (dataDir: string) => join(dataDir, 'elsewhere', 'nuncio.db')],
  ])('G12: holds the new one when what is copied is an older state that was %s', async (_, placeIn) => {
    const nuncio = await startNuncio()
    const place = placeIn(nuncio.dataDir)
    const kept = join(nuncio.dataDir, 'kept.db')
    const { id } = await nuncio.operator.administration.findConnection(SENDER, null)
    await nuncio.operator.administration.setConnectionState(id, 'paused', 'test')
    const { messageId } = await nuncio.text(TO, 'waits')
    await nuncio.stop()
    copyFileSync(join(nuncio.dataDir, 'nuncio.db'), kept)
    const on = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token })
    await on.operator.administration.setConnectionState(id, 'active', 'test')
    await on.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
    await on.stop()
    for (const rest of ['-wal', '-shm']) rmSync(`${place}${rest}`, { force: true })
    mkdirSync(dirname(place), { recursive: true })
    copyFileSync(kept, place)

    const said = await new CliOn(nuncio.dataDir, home.settings).run('copy', '--from', `sqlite:${place}`)

    assert.deepEqual([said.code, /warning: .* it is an older state of the database/.test(said.stderr)], [0, true])
    const there = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token, settings: home.settings })
    await there.operator.administration.setConnectionState(id, 'active', 'test')
    assert.match((await there.operator.administration.readHold())?.reason ?? '', /older state/)
    assert.match((await there.timeline(messageId)).laneWait?.words ?? '', /older state/)
  })

  it('G12: holds the lanes of a second copy, because a service may have used the first', async () => {
    const nuncio = await startNuncio()
    await nuncio.stop()
    const second = await openTestDatabase()
    try {
      await new CliOn(nuncio.dataDir, home.settings).json('copy')
      const cli = new CliOn(nuncio.dataDir, { NUNCIO_DATABASE_URL: second.url })

      const said = await cli.run('copy', '--json')

      assert.match(
        said.stderr,
        /warning: .*the data were copied to PostgreSQL at .* If that copy was never served.*nuncio hold --release/,
      )
      assert.match((await cli.json<{ reason: string }>('hold')).reason, /^the data were copied to PostgreSQL at/)
    } finally {
      await second.drop()
    }
  })

  it('G12: treats open attempts of the old database as unknown, because the new one may have made others', async () => {
    const nuncio = await startNuncio()
    await nuncio.text(TO, 'delivered')
    await nuncio.stop()
    const sqlite = new DatabaseSync(join(nuncio.dataDir, 'nuncio.db'))
    onTestFinished(() => sqlite.close())
    sqlite.exec(
      `insert into open_attempt (connection_id, message_sequence, number, epoch, started_at, crashes)
         select connection_id, sequence, 2, 7, 1700000000000, 1 from message`,
    )

    await new CliOn(nuncio.dataDir, home.settings).json('copy')

    const possiblySuperseded = 'select message_sequence = possibly_superseded_sequence as yes from open_attempt'
    assert.equal(sqlite.prepare(possiblySuperseded).get()?.['yes'], 1)
    assert.deepEqual(await home.query(possiblySuperseded), [{ yes: null }])
  })
})
