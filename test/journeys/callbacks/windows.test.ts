import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
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
const REFUSED: GivenStatus = { errors: [{ code: 131047, title: 'Re-engagement message' }] }

/** Every message of the world, oldest first. */
async function messagesOf({ storage }: CallbackWorld) {
  const found = []
  const filter = { accountId: null, connectionId: null, state: null, limit: null }
  for await (const message of storage.administration.listMessages(filter)) found.push(message)
  return found.toReversed()
}

async function isClosed(world: CallbackWorld, { connectionId }: CloudSender): Promise<boolean> {
  return world.windows.isClosed(connectionId, RECIPIENT, world.storage.clock.now())
}

/** The body of a callback with a message from a person. */
function inbound({ phoneNumberId, businessAccountId }: CloudSender, from: string, atMs: number): string {
  const messages = [{ from, id: 'wamid.in', timestamp: String(Math.floor(atMs / 1000)), type: 'text' }]
  const value = { metadata: { phone_number_id: phoneNumberId }, contacts: [], messages }
  const entry = [{ id: businessAccountId, changes: [{ field: 'messages', value }] }]
  return JSON.stringify({ object: 'whatsapp_business_account', entry })
}

/** The body of a callback with a change of a number or its account. */
function news({ businessAccountId: id }: CloudSender, time: number, change: { field: string; value: unknown }): string {
  return JSON.stringify({ object: 'whatsapp_business_account', entry: [{ id, time, changes: [change] }] })
}

describe.each(openWorlds())('a window that a callback reports as closed, on %s', (_, newWorld) => {
  it('fails the message, is remembered, and sends it again once if a template can carry it', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender({ templates: TEXT_TEMPLATE })
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)

      for (let i = 0; i < 3; i++) {
        await world.tell(sender, { ...status('failed', id, 'wamid.A'), ...REFUSED })
        await world.applied()
      }

      const [failed, again, ...more] = await messagesOf(world)
      assert.deepEqual([failed?.state, failed?.reason, again?.state, more], ['FAILED', 'whatsapp_131047', 'QUEUED', []])
      assert.equal(await isClosed(world, sender), true)
    })
  })

  it('is also remembered of people who hide their number, so that the repeat goes as a template', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender({ templates: TEXT_TEMPLATE })
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)

      const biz_opaque_callback_data = `${id}#1#message#${RECIPIENT}`
      await world.tell(sender, { id: 'wamid.A', status: 'failed', biz_opaque_callback_data, ...REFUSED })
      await world.applied()

      assert.deepEqual(
        (await messagesOf(world)).map(({ state }) => state),
        ['FAILED', 'QUEUED'],
      )
      assert.equal(await isClosed(world, sender), true)
    })
  })

  it('fails the message for good if no template can carry it, or if it was a template', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [without, withText] = [await world.addSender(), await world.addSender({ templates: TEXT_TEMPLATE })]
      const plain = await world.publish(without, 'wamid.A')
      const others = [await world.publish(withText, 'wamid.B'), await world.publish(withText, 'wamid.C')]
      world.applier.start(world.events)

      await world.tell(without, { ...status('failed', plain, 'wamid.A'), ...REFUSED })
      for (const [i, form] of ['template', 'audio'].entries()) {
        const biz_opaque_callback_data = `${others[i]}#1#${form}`
        await world.tell(withText, { id: `wamid.${'BC'[i]}`, status: 'failed', biz_opaque_callback_data, ...REFUSED })
      }
      await world.applied()

      assert.deepEqual(
        (await messagesOf(world)).map(({ state }) => state),
        ['FAILED', 'FAILED', 'FAILED'],
      )
    })
  })

  it('sends nothing again and again if the repeat is refused for the same reason', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender({ templates: TEXT_TEMPLATE })
      const first = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)
      await world.tell(sender, { ...status('failed', first, 'wamid.A'), ...REFUSED })
      await world.applied()
      const repeat = (await messagesOf(world)).at(-1)
      assert.ok(repeat && repeat.id !== first)
      await world.openNext(sender)
      await world.end(sender, { wamid: 'wamid.B' })

      await world.tell(sender, { ...status('failed', repeat.id, 'wamid.B'), ...REFUSED })
      await world.applied()

      assert.deepEqual(
        (await messagesOf(world)).map(({ state }) => state),
        ['FAILED', 'FAILED'],
      )
    })
  })

  it('sends no message again that was refused more than a day ago', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender({ templates: TEXT_TEMPLATE })
      const id = await world.publish(sender, 'wamid.A')
      const body = world.body(sender, { ...status('failed', id, 'wamid.A'), ...REFUSED })
      await world.storage.clock.pass(25 * 3_600_000)
      world.applier.start(world.events)

      await world.post(sender, body)
      await world.applied()

      assert.equal((await messagesOf(world)).length, 1)
      assert.equal(await world.stateOf(id), 'FAILED')
      assert.equal(await isClosed(world, sender), false)
    })
  })

  it('opens when the recipient writes, but not for messages written before', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const { clock } = world.storage
      await world.windows.close(sender.connectionId, RECIPIENT, clock.now())
      world.applier.start(world.events)
      await clock.pass(60_000)

      await world.post(sender, inbound(sender, RECIPIENT, clock.now() - 3_600_000))
      await world.post(sender, inbound(sender, '15550100099', clock.now()))
      await world.applied()
      const before = await isClosed(world, sender)
      await world.post(sender, inbound(sender, RECIPIENT, clock.now()))
      await world.applied()

      assert.deepEqual([before, await isClosed(world, sender)], [true, false])
    })
  })
})

describe.each(openWorlds())('a report of Meta about a number, on %s', (_, newWorld) => {
  it('is remembered with its own time, for the numbers that it names', async () => {
    await withCallbacks(newWorld, async (world) => {
      const one = await world.addSender()
      const other = await world.addSender({ beside: one })
      const now = Math.floor(world.storage.clock.now() / 1000)
      const display_phone_number = `+${one.number.slice(0, 1)} ${one.number.slice(1)}`
      const quality = (event: string, more: object = {}) => ({ display_phone_number, event, ...more })
      world.applier.start(world.events)

      const field = 'phone_number_quality_update'
      await world.post(one, news(one, now - 10, { field, value: quality('UNFLAGGED') }))
      await world.post(one, news(one, now - 60, { field, value: quality('FLAGGED', { current_limit: 'TIER_250' }) }))
      await world.post(one, news(one, now - 5, { field, value: quality('THROUGHPUT_UPGRADE') }))
      await world.post(one, news(one, now, { field: 'account_update', value: { event: 'ACCOUNT_RESTRICTION' } }))
      await world.applied()
      const [reported, unreported] = [
        await world.numbers.read(one.connectionId),
        await world.numbers.read(other.connectionId),
      ]

      assert.deepEqual(reported, {
        isFlagged: false,
        throughputPerSecond: 1_000,
        messagingLimit: 'TIER_250',
        accountEvent: 'ACCOUNT_RESTRICTION',
      })
      assert.deepEqual([unreported.isFlagged, unreported.accountEvent], [false, 'ACCOUNT_RESTRICTION'])
    })
  })
})
