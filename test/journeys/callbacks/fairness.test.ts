import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import {
  type CallbackWorld,
  type CloudSender,
  type GivenStatus,
  openWorlds,
  status,
  withCallbacks,
} from '../../support/callback-world/callback-world.ts'

const RECIPIENT = '15550100000'
const TEXT_TEMPLATE = { text: { name: 'notice', language: 'en_US', bodyVariables: 1 } }

/** The body of a callback with messages from this many people. */
function inbound({ storage }: CallbackWorld, { phoneNumberId, businessAccountId }: CloudSender, count: number): string {
  const timestamp = String(Math.floor(storage.clock.now() / 1_000))
  const messages = Array.from({ length: count }, (_, i) => ({ from: String(15_550_100_000 + i), timestamp }))
  const value = { metadata: { phone_number_id: phoneNumberId }, contacts: [], messages }
  const entry = [{ id: businessAccountId, changes: [{ field: 'messages', value }] }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry })
}

/** Refusals of one message, each with different words. */
function refusals(id: MessageId, count: number): readonly GivenStatus[] {
  return Array.from({ length: count }, (_, i) => ({
    ...status('failed', id, 'wamid.L'),
    errors: [{ code: 131047, title: `Re-engagement message ${i}` }],
  }))
}

describe.each(openWorlds())('reports on one connection, on %s', (_, newWorld) => {
  it('do not delay reports on other connections, however many they are', async () => {
    await withCallbacks(newWorld, async (world) => {
      const loud = await world.addSender()
      const quiet = await world.addSender()
      const id = await world.publish(quiet, 'wamid.Q')
      const flood = Array.from({ length: 3_000 }, (_, i) => ({ id: `wamid.${i}`, status: 'delivered' }))
      await world.tell(loud, ...flood)
      await world.storage.clock.pass(100)
      await world.tell(quiet, status('read', id, 'wamid.Q'))
      await world.storage.clock.pass(100)

      world.applier.start(world.events)
      await world.applied()

      const ends = world.noted('callback.applied')
      assert.equal(ends.length, 3_001)
      const place = ends.indexOf('read applied')
      assert.ok(place >= 0 && place < 200, `it is applied after ${place} others`)
    })
  })

  it('let others wait for at most one poll that has begun', async () => {
    await withCallbacks(newWorld, async (world) => {
      const loud = await world.addSender()
      const quiet = await world.addSender()
      const id = await world.publish(quiet, 'wamid.Q')
      const flood = Array.from({ length: 3_000 }, (_, i) => ({ id: `wamid.${i}`, status: 'delivered' }))
      await world.tell(loud, ...flood)
      let late: Promise<void> | null = null
      world.beforeReceipt = async () => {
        late ??= world.tell(quiet, status('read', id, 'wamid.Q'))
        await late
      }

      world.applier.start(world.events)
      await world.applied()

      const place = world.noted('callback.applied').indexOf('read applied')
      assert.ok(place >= 0 && place < 1_300, `it is applied after ${place} others`)
    })
  })

  it('open the windows of thousands of people with few queries', async () => {
    await withCallbacks(newWorld, async (world) => {
      const loud = await world.addSender()
      await world.windows.close(loud.connectionId, RECIPIENT, world.storage.clock.now() - 1_000)
      let questions = 0
      const findSome = world.memory.findSome.bind(world.memory)
      const find = world.memory.find.bind(world.memory)
      world.memory.findSome = (...given) => {
        questions += 1
        return findSome(...given)
      }
      world.memory.find = (...given) => {
        questions += 1
        return find(...given)
      }
      const reply = await world.post(loud, inbound(world, loud, 5_000))
      assert.equal(reply?.status, 200)

      world.applier.start(world.events)
      await world.applied()

      assert.ok(questions > 0 && questions < 50, `${questions} questions`)
      assert.equal(await world.windows.isClosed(loud.connectionId, RECIPIENT, world.storage.clock.now()), false)
    })
  })

  it('send a message again once, with one request, however often its refusal is reported', async () => {
    await withCallbacks(newWorld, async (world) => {
      const loud = await world.addSender({ templates: TEXT_TEMPLATE })
      const id = await world.publish(loud, 'wamid.L')
      let visits = 0
      world.applier.start({
        ...world.events,
        sendAgain: (failed) => {
          visits += 1
          return world.events.sendAgain(failed)
        },
      })

      for (let i = 0; i < 3; i++) {
        await world.tell(loud, ...refusals(id, 25))
        await world.applied()
        await world.storage.clock.pass(1_000)
      }

      assert.equal(visits, 1)
      assert.equal(await world.stateOf(id), 'FAILED')
      assert.ok((await world.reportsOf(id)).length <= 50)
    })
  })
})
