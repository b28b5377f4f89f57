import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { LEASE_MS } from '../../src/core/dispatch/workers/lease.ts'
import { ANNA, BEN } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { type ChannelWorld, openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, RECIPIENT, simulator, until } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()
const DAY_MS = 24 * 3_600_000
const LIMIT = { deadlineMs: 60_000, everyMs: 20 }

describe.skipIf(REASON)(`WhatsApp Web and new recipients, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('sends to no new recipients while WhatsApp locks them, also after a restart, and always to known ones', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'known', RECIPIENT)
    const anna = await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    simulator.messages.lockedUntil.set(number, new Date(Date.now() + DAY_MS))
    const [first, second, third] = [newRecipient(), newRecipient(), newRecipient()]

    const refused = await world.accept(sender, 'refused', first)
    await waitUntil('the end of the lock is shown', async () => (await world.waitsForMs(refused)) > DAY_MS / 2, LIMIT)
    const stanzas = simulator.messages.sent.length
    const held = await world.accept(sender, 'held', second)
    await world.waitsFor(held, 'first_contacts_locked')
    await anna.stop()
    await world.startWorker(BEN)
    const heldLater = await world.accept(sender, 'held after the restart', third)
    await world.waitsFor(heldLater, 'first_contacts_locked')
    await world.reaches(await world.accept(sender, 'known again', RECIPIENT), 'READ')

    // This one stanza went to the known recipient.
    assert.equal(simulator.messages.sent.length, stanzas + 1)
  })

  it('sends waiting messages when WhatsApp ends the lock early', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'known', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    simulator.messages.lockedUntil.set(number, new Date(Date.now() + DAY_MS))
    const held = await world.accept(sender, 'held', newRecipient())
    await world.waitsFor(held, 'first_contacts_locked')

    simulator.messages.lockedUntil.delete(number)

    // The channel queries the lock every ten minutes, and each waiting message is decided again once a minute. After the first
    // skip the lane is claimed again. From then on each skip is shorter than the lease, and there is none while the number logs
    // in or sends.
    world.skip(10 * 60_000)
    const isIdle = async () =>
      world.statusesOf(sender.connectionId).at(-1) === 'ready' && (await world.stateOf(held)) === 'QUEUED'
    await waitUntil(
      'the end of the wait',
      async () => {
        if (await isIdle()) world.skip(LEASE_MS / 5)
        return simulator.phone(lastRecipient()).texts.includes('held')
      },
      { deadlineMs: 60_000, everyMs: 200 },
    )
  })

  it('adds the token of a person who wrote first, so that the answer is not a first contact', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'to one who never wrote', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    const before = simulator.messages.sent.at(-1)?.tags
    const recipient = newRecipient()
    simulator.giveToken(recipient, number)
    await until('the token is kept', () => simulator.lineOf(number)?.login?.device.unacknowledged.length === 0)

    await world.reaches(await world.accept(sender, 'answer', recipient), 'READ')

    assert.deepEqual(
      [before, simulator.messages.sent.at(-1)?.tags].map((tags) => tags?.includes('tctoken')),
      [false, true],
    )
  })

  it('explains a wait with the number of new recipients used, and sends to known ones meanwhile', async () => {
    const world = await openWorld({ newRecipientsPerDay: 1 })
    const { sender, messageId } = await world.link(newNumber(), 'first', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    const waiting = await world.accept(sender, 'waits', newRecipient())
    await world.waitsFor(waiting, 'new_recipients')
    const { laneWait } = await world.storage.administration.explainMessage(waiting)
    await world.reaches(await world.accept(sender, 'to a known one', RECIPIENT), 'READ')

    assert.match(laneWait?.words ?? '', /^1 of 1 new recipients were written to within 24 hours, so none is left\.$/)
  })

  it('shows that it types and that the number is online if the settings say so', async () => {
    const world = await openWorld({ typing: true, presence: true })
    const { messageId } = await world.link(newNumber(), 'typed', RECIPIENT)
    const before = simulator.requests.length

    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    const asked = simulator.requests.slice(before)
    const place = (request: string) => asked.indexOf(request)
    assert.ok(place('chatstate <composing>') >= 0, asked.join('\n'))
    assert.ok(place('presence available') >= 0, asked.join('\n'))
    assert.ok(place('chatstate <composing>') < asked.findIndex((request) => request.startsWith('message')))
  })

  it('shows neither if the settings do not say so', async () => {
    const world = await openWorld()
    const { messageId } = await world.link(newNumber(), 'plain', RECIPIENT)
    const before = simulator.requests.length

    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    const asked = simulator.requests.slice(before)
    assert.deepEqual(
      asked.filter((request) => request.startsWith('chatstate') || request === 'presence available'),
      [],
    )
  })
})

let recipients = 15_557_000_000

function newRecipient(): string {
  recipients += 1
  const number = String(recipients)
  simulator.phone(number)
  return number
}

function lastRecipient(): string {
  return String(recipients)
}

async function openWorld(settings: ChannelWorld['settings'] = {}): Promise<ChannelWorld> {
  const world = await openChannelWorld(simulator)
  world.settings = settings
  world.ownName = 'Shop'
  return world
}
