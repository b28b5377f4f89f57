import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Handover } from '../../../src/core/ports/channel.ts'
import { type BridgeWorld, newBridgeWorld } from './bridge-world.ts'
import { becomes, promisingIn, sendBy } from './channel-world.ts'

const TEXTS = {
  ...{ types: ['message'], maxTextLength: 160, maxCaptionLength: null },
  ...{ receipts: ['delivered'], evidence: false },
}
const MORE = { ...TEXTS, types: ['message', 'image'] }

describe('the capabilities of an adapter', () => {
  const promises = promisingIn({ it }, () => newBridgeWorld())

  promises('are those that it reported when its connection was checked, and before that everything', async (world) => {
    const { settings } = await world.handover()
    const typesOf = (given: Handover['settings']) => world.channel.capabilitiesOf?.(given).types

    assert.deepEqual(typesOf({ ...settings, capabilities: TEXTS }), ['message'])
    assert.deepEqual(typesOf(settings), ['message', 'image', 'document', 'video', 'audio'])
  })

  promises('limit the wait for evidence to the time that the connection has stored', async (world) => {
    const { settings } = await world.handover()
    const waitOf = (given: Handover['settings']) =>
      world.channel.capabilitiesOf?.({ ...settings, ...given }).evidenceWaitMs

    assert.equal(waitOf({ sendTimeoutMs: 30_000, evidenceWaitMs: 60_000 }), 90_000)
    assert.equal(waitOf({ sendTimeoutMs: 5_000, evidenceWaitMs: 0 }), 5_000)
  })

  promises('are kept for the watchdog if they differ, until they are the same again', async (world) => {
    const handover = await world.handover()
    const asked = { ...handover, settings: { ...handover.settings, capabilities: TEXTS } }
    world.adapter.describes = { capabilities: MORE }
    await sendBy(world.channel, asked)
    const changed = await becomes(5_000, async () => (await said(world)).length > 0)
    const kept = await said(world)
    // Another process queries the adapter again.
    world.adapter.describes = { capabilities: TEXTS }
    await sendBy(await world.startAnother(), { ...(await world.handover()), settings: asked.settings })
    const isGone = await becomes(5_000, async () => (await said(world)).length === 0)

    assert.deepEqual([changed, kept, isGone], [true, [MORE], true])
  })

  promises('are no longer kept when they equal the stored ones', async (world) => {
    const handover = await world.handover()
    const memory = world.storage.channelState('bridge')
    const entry = { connectionId: world.connectionId, key: 'said', value: JSON.stringify(MORE), at: 1 }
    await memory.add('capabilities', entry)
    world.adapter.describes = { capabilities: MORE }
    await sendBy(world.channel, { ...handover, settings: { ...handover.settings, capabilities: MORE } })

    assert.ok(await becomes(5_000, async () => (await said(world)).length === 0))
  })

  promises('are not compared while none are stored', async (world) => {
    world.adapter.describes = { capabilities: MORE }
    await sendBy(world.channel, await world.handover())

    assert.deepEqual(await said(world), [])
  })
})

async function said({ storage }: BridgeWorld): Promise<readonly unknown[]> {
  const memory = storage.channelState('bridge')
  const entries = await memory.list('capabilities', { connectionId: null, after: 0, limit: 10 })
  return entries.map(({ value }) => JSON.parse(value))
}
