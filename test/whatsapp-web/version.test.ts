import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it, onTestFinished } from 'vitest'
import type { GuardedCall } from '../../src/core/ports/guarded-call.ts'
import { ANNA, BEN } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, RECIPIENT, simulator, until } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()
const NEWEST = 1_999_999_999

describe.skipIf(REASON)(`WhatsApp Web, against a simulator that refuses old versions${skipNote(REASON)}`, () => {
  openSimulator()

  it('logs in with the version that WhatsApp names after its own is refused, and starts with it after a restart', async () => {
    const world = await openChannelWorld(simulator)
    const { messageId, sender } = await world.link(newNumber(), 'hello', RECIPIENT)
    const pages = simulator.pages.length
    refuseOlderThan(NEWEST)

    const anna = await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    await anna.stop()
    await world.startWorker(BEN)
    await world.reaches(await world.accept(sender, 'again', RECIPIENT), 'READ')

    assert.deepEqual([simulator.pages.slice(pages), simulator.lastRevision], [['GET /sw.js'], NEWEST])
    assert.equal((await world.statusOf(sender))?.lastLogin?.version, `2.3000.${NEWEST}`)
    assert.ok(!world.statusesOf(sender.connectionId).includes('client-refused'))
  })

  it('links a phone with the version that WhatsApp names after its own is refused', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const sender = await world.addSender(number)
    refuseOlderThan(NEWEST)
    await world.startWorker(ANNA)

    const request = await world.request(sender, 'qr')
    simulator.pairing.scan(number, await request.code())

    assert.deepEqual(await request.end(), ['done', undefined])
  })

  it('stops waiting for a version that WhatsApp does not name when the worker stops', async () => {
    const world = await openChannelWorld(simulator)
    const calls = { begun: 0, ended: 0 }
    const guarded: GuardedCall = {
      async call(_, { signal }) {
        calls.begun += 1
        await once(signal, 'abort')
        calls.ended += 1
        return { kind: 'unknown', code: 'interrupted', words: 'stopped' }
      },
    }
    await world.link(newNumber(), 'hello', RECIPIENT)
    refuseOlderThan(NEWEST)
    const anna = await world.startWorker(ANNA, world.createChannel({ guarded }))
    await until('the question', () => calls.begun === 1)

    await anna.stop()

    assert.deepEqual(calls, { begun: 1, ended: 1 })
  })
})

function refuseOlderThan(revision: number): void {
  simulator.namedRevision = revision
  simulator.leastRevision = revision
  onTestFinished(() => {
    simulator.leastRevision = 0
    simulator.namedRevision = null
  })
}
