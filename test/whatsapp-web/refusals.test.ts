import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { LEASE_MS } from '../../src/core/dispatch/workers/lease.ts'
import { ANNA } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { type ChannelWorld, openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, RECIPIENT, simulator } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()
const MINUTE_MS = 60_000

describe.skipIf(REASON)(
  `WhatsApp Web when WhatsApp asks for a slower pace, against the simulator${skipNote(REASON)}`,
  () => {
    openSimulator()

    it('delays the messages to one recipient, and sends to others meanwhile', async () => {
      const world = await openChannelWorld(simulator)
      const slow = refusedRecipient()
      const { sender, messageId } = await world.link(newNumber(), 'too fast', slow)
      await world.startWorker(ANNA)
      await world.waitsFor(messageId, 'recipient_rate_limited')

      await world.reaches(await world.accept(sender, 'to another', RECIPIENT), 'READ')

      assert.equal(await world.stateOf(messageId), 'QUEUED')
      simulator.messages.failTo(slow, null)
      await pass(world, MINUTE_MS)
      await world.reaches(messageId, 'READ')
    })

    it('delays the whole number after three recipients in a row were refused', async () => {
      const world = await openChannelWorld(simulator)
      const { sender, messageId } = await world.link(newNumber(), 'hello', RECIPIENT)
      await world.startWorker(ANNA)
      await world.reaches(messageId, 'READ')
      const refused = [refusedRecipient(), refusedRecipient(), refusedRecipient()]
      const [first] = await Promise.all(refused.map((to) => world.accept(sender, 'too fast', to)))
      assert.ok(first)
      await world.waitsFor(first, 'rate_limited')

      const waiting = await world.accept(sender, 'waits with them', RECIPIENT)

      await world.waitsFor(waiting, 'behind_others')
      assert.equal(await world.stateOf(waiting), 'QUEUED')
      for (const to of refused) simulator.messages.failTo(to, null)
      await pass(world, MINUTE_MS)
      await world.reaches(waiting, 'READ')
    })
  },
)

/** Lets time pass in steps shorter than a lease, so that the worker keeps the lane. */
async function pass(world: ChannelWorld, ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed += LEASE_MS / 5) {
    world.skip(LEASE_MS / 5)
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}

function refusedRecipient(): string {
  const number = newNumber()
  simulator.phone(number)
  simulator.messages.failTo(number, { refuse: '429' })
  onTestFinished(() => simulator.messages.failTo(number, null))
  return number
}
