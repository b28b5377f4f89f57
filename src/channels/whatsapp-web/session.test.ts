import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import { ANNA, accept, addSender, hasSession, holdLane } from '../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../test/support/black-box/wait-until.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import { explainRequestEnd } from '../../core/sentences/explain-session.ts'
import { EncryptedSessionStore } from '../../secrets/session-store.ts'
import { createDeviceSessions } from '../../storage/queries/connections/device-sessions.ts'
import { LoginTurns } from './login-turns.ts'
import { WebSession } from './session.ts'
import type { SessionParts } from './session-parts.ts'

describe('the session of a held lane', () => {
  it('ends each turn to log in that it took, also when a person wants it while a login begins', async () => {
    const { session, logins, store } = await openSession()
    const found = Promise.withResolvers<void>()
    store.found = found.promise
    session.open()
    await settled()

    const connecting = session.connectNow()
    await settled()
    found.resolve()
    await connecting
    await settled()

    const ends: (() => void)[] = []
    for (let index = 0; index < TURNS; index += 1) void logins.take().then((end) => ends.push(end))
    await settled()
    assert.equal(ends.length, TURNS)
  })

  it('removes what is stored also when it does not open', async () => {
    const { world, lane, session, store } = await openSession()
    await (await store.open(lane))?.write({ credentials: Buffer.from('{}') })
    await world.sql("update channel_session set data_key = 'of another ring'")
    session.open()
    await settled()
    const before = session.state

    await session.close({ remove: true })

    assert.deepEqual(before, { name: 'unreadable' })
    assert.equal(await hasSession(world), false)
  })

  it('unlinks also what does not open, ends the wait for it, and says that WhatsApp does not know of it', async () => {
    const { world, lane, session, store } = await openSession()
    await (await store.open(lane))?.write({ credentials: Buffer.from('{}') })
    await world.sql("update channel_session set data_key = 'of another ring'")
    const waitUntilMs = world.clock.now() + 600_000
    await world.sql(`update lane set wait_reason = 'session_unreadable', wait_until = ${waitUntilMs}`)
    const requests = createDeviceSessions(world.store)
    const of = { accountId: lane.accountId, id: lane.connectionId }
    const { id } = await requests.request(of, 'unlink', 'test')

    session.requested()

    const ended = await waitUntil(
      'the end',
      async () => {
        const { progress } = await requests.watch(of, id)
        return progress.state === 'ended' && progress
      },
      { deadlineMs: 10_000 },
    )
    assert.deepEqual(ended, { state: 'ended', end: 'done-here-only', detail: 'unreadable' })
    assert.equal(await hasSession(world), false)
    assert.equal((await world.lanes.inspect(lane))?.memory.wait?.until, world.clock.now())
    assert.equal(
      explainRequestEnd({ number: '15550001000', kind: 'unlink', hasWaiting: true }, ended).sentence,
      '15550001000 is unlinked here, but its session could not be decrypted to say so to WhatsApp: the phone still lists this device.',
    )
  })

  it('stores no device that a phone links while the session is closed', async () => {
    const { world, session } = await openSession()
    await session.close({ remove: false })

    await assert.rejects(session.adopt('{}', 'req'), /not of this worker any more/)

    assert.equal(await hasSession(world), false)
  })
})

const TURNS = 2

class SlowStore extends EncryptedSessionStore {
  found: Promise<void> = Promise.resolve()

  override async open(lane: Parameters<EncryptedSessionStore['open']>[0]): ReturnType<EncryptedSessionStore['open']> {
    await this.found
    return super.open(lane)
  }
}

async function openSession() {
  const world = await newSqliteWorld()
  const sender = await addSender(world)
  await accept(world, sender)
  const claimed = await holdLane(world, ANNA, sender.connectionId)
  const lane = { ...claimed, ...sender, stillHolds: () => true }
  const store = new SlowStore({ rows: world.sessions, secrets: testSecrets() })
  const logins = new LoginTurns({ mostAtOnce: TURNS, mostASecond: 20, clock: world.clock })
  const host = { isInstalled: () => true, restsMs: () => 0 }
  const parts = { store, host, logins, clock: world.clock, note: () => {} }
  const session = new WebSession(lane, parts as unknown as SessionParts)
  onTestFinished(async () => {
    await session.close({ remove: false })
    await world.close()
  })
  return { world, lane, store, session, logins }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
