import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import { ANNA, accept, addSender, holdLane } from '../../../test/conformance/storage-world.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import { EncryptedSessionStore } from '../../secrets/session-store.ts'
import { SentContents } from './sent-contents.ts'
import { StoredSession } from './stored-session.ts'

const DAY_MS = 24 * 3_600_000
const CONTENT = { to: '15551234567', fields: { extendedTextMessage: { text: 'hello' } } }

describe('what messages were sent as', () => {
  it('is removed within a day after two weeks, also when nothing is sent any more', async () => {
    const world = await openWorld()
    await world.contents.keep('first', CONTENT)

    world.pass(15 * DAY_MS)
    await world.contents.sweep()

    assert.deepEqual(await world.stored(), [])
  })

  it('stays for a week at least', async () => {
    const world = await openWorld()
    await world.contents.keep('first', CONTENT)

    world.pass(7 * DAY_MS)
    await world.contents.sweep()

    assert.deepEqual((await world.contents.find('first'))?.fields, CONTENT.fields)
  })
})

async function openWorld() {
  const world = await newSqliteWorld()
  onTestFinished(() => world.close())
  const sender = await addSender(world)
  await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const store = new EncryptedSessionStore({ rows: world.sessions, secrets: testSecrets() })
  const session = await StoredSession.open(store, lane, () => {})
  assert.ok(session)
  await session.writeCredentials('{}')
  return {
    contents: new SentContents(session, world.clock),
    /** The lane is held on. */
    pass: (ms: number) => world.clock.setNow(ms),
    async stored() {
      const rows = await world.sql(
        "select id from channel_session_key where kind like 'content-%' and kind <> 'content-week' order by id",
      )
      return rows.map(({ id }) => id)
    },
  }
}
