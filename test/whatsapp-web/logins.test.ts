import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { ANNA, BEN } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { element, SERVER } from '../support/whatsapp-web/binary-node.ts'
import { openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, RECIPIENT, simulator, until } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()

describe.skipIf(REASON)(`a login of WhatsApp Web, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it.each([
    ['401', 'unlinked', 'device_unlinked'],
    ['402', 'banned', 'number_banned'],
    ['403', 'banned', 'number_banned'],
    ['405', 'client-refused', 'client_refused'],
    ['409', 'client-refused', 'client_refused'],
    ['411', 'client-refused', 'client_refused'],
    ['500', 'connecting', 'connection_away'],
    ['503', 'connecting', 'connection_away'],
  ])(
    'that is refused with %s leaves the session %s, and its messages wait for that: %s',
    async (code, status, reason) => {
      const world = await openChannelWorld(simulator)
      const number = newNumber()
      const { sender, messageId } = await world.link(number, 'waits', RECIPIENT)
      simulator.refusedLogins.set(number, code)

      await world.startWorker(ANNA)

      await world.waitsFor(messageId, reason)
      assert.equal(world.statusesOf(sender.connectionId).at(-1), status)
    },
  )

  it('of a banned number is not tried again after a restart until a person asks for it', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'waits', RECIPIENT)
    simulator.refusedLogins.set(number, '403')
    const anna = await world.startWorker(ANNA)
    await world.waitsFor(messageId, 'number_banned')
    await anna.stop()
    simulator.refusedLogins.delete(number)
    const logins = countLogins()
    await world.startWorker(BEN)
    await until('the status', () => world.statusesOf(sender.connectionId).at(-1) === 'banned')
    const before = logins()

    const request = await world.request(sender, 'use-here')

    assert.deepEqual(await request.end(), ['done', undefined])
    assert.equal(before, 0)
    await world.reaches(messageId, 'READ')
  })

  it('ends when the certificate is forged, and is not tried again at once', async () => {
    const world = await openChannelWorld(simulator)
    const { sender, messageId } = await world.link(newNumber(), 'waits', RECIPIENT)
    simulator.isCertificateForged = true
    onTestFinished(() => {
      simulator.isCertificateForged = false
    })
    const logins = countLogins()

    await world.startWorker(ANNA)

    await world.waitsFor(messageId, 'client_refused')
    assert.deepEqual([world.statusesOf(sender.connectionId), logins()], [['connecting', 'client-refused'], 0])
  })

  it('begins with the routing information that WhatsApp has sent', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'hello', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    const before = simulator.lineOf(number)?.routing
    const routing = element('edge_routing', [element('routing_info', Buffer.from('this way'))])
    simulator.lineOf(number)?.send({ tag: 'ib', attrs: { from: SERVER }, content: [routing] })

    simulator.breakLine(number, '503')

    await world.reaches(await world.accept(sender, 'again', RECIPIENT), 'READ')
    assert.deepEqual([before, simulator.lineOf(number)?.routing?.toString()], [null, 'this way'])
  })
})

/** Returns a function that counts the logins from now on. */
function countLogins(): () => number {
  let count = 0
  simulator.onLogin = () => {
    count += 1
  }
  onTestFinished(() => {
    simulator.onLogin = () => {}
  })
  return () => count
}
