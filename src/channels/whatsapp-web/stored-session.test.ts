import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import { ANNA, accept, addSender, BEN, holdLane, type StorageWorld } from '../../../test/conformance/storage-world.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import type { ClaimedLane } from '../../core/ports/lanes.ts'
import { EncryptedSessionStore } from '../../secrets/session-store.ts'
import { StoredSession } from './stored-session.ts'

const CREDENTIALS = JSON.stringify({ nextPreKeyId: 813, firstUnuploadedPreKeyId: 813, noiseKey: 'kept' })

describe('the stored session of a linked device', () => {
  it('reads back what was written, and removes what is null', async () => {
    const { session } = await openSession()
    await session.writeKeys([
      ['session', '15551234567.0', '"one"'],
      ['pre-key', '1', '"two"'],
    ])

    await session.writeKeys([['pre-key', '1', null]])

    assert.deepEqual(await session.readKeys('session', ['15551234567.0', '15551234568.0']), [
      ['15551234567.0', '"one"'],
    ])
    assert.deepEqual(await session.readKeys('pre-key', ['1']), [])
  })

  it('stores keys with the number that they are about, also under WhatsApp’s own id of it', async () => {
    const { world, session } = await openSession()
    await session.writeKeys([['lid-mapping', '915551234567_reverse', '"15551234567"']])

    await session.writeKeys([
      ['session', '915551234567_1.0', '"one"'],
      ['session', '15551234567.0', '"two"'],
      ['devices', '15551234567', '"three"'],
      ['pre-key', '1', '"four"'],
    ])

    const rows = await world.sql('select kind, id, recipient from channel_session_key order by kind, id')
    assert.deepEqual(
      rows.map(({ kind, recipient }) => [kind, recipient]),
      [
        ['devices', '15551234567'],
        ['lid-mapping', '15551234567'],
        ['pre-key', null],
        ['session', '15551234567'],
        ['session', '15551234567'],
      ],
    )
  })

  it('G6: says so when another worker has the lane, and writes nothing', async () => {
    const { world, session, lost } = await openSession()
    await world.clock.pass(60_000)
    await holdLane(world, BEN, session.lane.connectionId)

    await assert.rejects(session.writeKeys([['session', '15551234567.0', '"late"']]), /not of this worker/)

    assert.equal(lost.length, 1)
    assert.deepEqual(await world.sql('select * from channel_session_key'), [])
  })

  it('goes back to the device that worked, however often others were linked, and forgets who linked them', async () => {
    const { world, session } = await openSession()
    for (const [index, request] of ['req_1', 'req_2'].entries())
      await (await open(world, session.lane, [])).adopt(JSON.stringify({ noiseKey: `new ${index}` }), request)
    const again = await open(world, session.lane, [])
    const before = await again.wasLinkedBy('req_2')

    const isRestored = await again.restoreFormer()

    const credentials = JSON.parse((await (await open(world, session.lane, [])).readCredentials()) ?? '')
    assert.deepEqual([before, isRestored, credentials.noiseKey], [true, true, 'kept'])
    assert.deepEqual([await again.wasLinkedBy('req_2'), await again.readFormer()], [false, null])
  })

  it('G12: forgets its ratchets and skips keys once all lanes were held, because they may have been used already', async () => {
    const { world, session } = await openSession()
    const kinds = ['session', 'sender-key', 'device-list', 'devices', 'pre-key', 'lid-mapping']
    await session.writeKeys(kinds.map((kind) => [kind, '15551234567', '"1"'] as const))
    await world.administration.holdLanes('the database may have gone back', 'test')
    await world.administration.releaseHold('test')
    const again = await open(world, session.lane, [])

    const credentials = JSON.parse((await again.readCredentials()) ?? '')

    const rows = await world.sql('select kind from channel_session_key order by kind')
    assert.deepEqual(
      rows.map(({ kind }) => kind),
      ['lid-mapping', 'pre-key'],
    )
    assert.deepEqual(credentials, { nextPreKeyId: 1_813, firstUnuploadedPreKeyId: 1_813, noiseKey: 'kept' })
    assert.deepEqual(JSON.parse((await (await open(world, session.lane, [])).readCredentials()) ?? ''), credentials)
  })
})

async function openSession() {
  const world = await newSqliteWorld()
  onTestFinished(() => world.close())
  const sender = await addSender(world)
  await accept(world, sender)
  const claimed = await holdLane(world, ANNA, sender.connectionId)
  const lost: null[] = []
  const opened = await open(world, claimed, lost)
  await opened.writeCredentials(CREDENTIALS)
  return { world, session: Object.assign(opened, { lane: claimed }), lost }
}

async function open(world: StorageWorld, lane: ClaimedLane, lost: null[]): Promise<StoredSession> {
  const store = new EncryptedSessionStore({ rows: world.sessions, secrets: testSecrets() })
  const opened = await StoredSession.open(store, lane, () => lost.push(null))
  assert.ok(opened)
  return opened
}
