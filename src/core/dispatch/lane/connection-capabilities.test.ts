import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANNA, stateOf } from '../../../../test/conformance/storage-world.ts'
import { reasonOf } from '../../../../test/support/dispatch-world/image-lane.ts'
import { BOTH, openDispatchWorld, READY } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'

describe('a connection that can send less than others of its channel', () => {
  it('fails what it cannot send without an upload and a call, until its settings say otherwise', async () => {
    const world = await openDispatchWorld()
    world.typesOf = (settings) => (settings['sendsPictures'] === true ? ['message', 'image'] : ['message'])
    world.ready = () => READY
    const sender = await world.addSenderOf(ANNA, BOTH)
    const ids = [await world.acceptImage(sender, 'picture'), await world.accept(sender, 'text')]
    await world.startWorker(ANNA)
    await world.pass(1_000)
    const before = [world.uploads.length, ...world.sent]

    const channelSettings = { sendsPictures: true }
    await world.storage.administration.changeConnection(sender.connectionId, { channelSettings }, 'test')
    await world.pass(30_000)
    const later = await world.acceptImage(sender, 'later picture')
    await world.pass(30_000)

    assert.deepEqual(before, [0, 'anna: text'])
    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world.storage, id))), ['FAILED', 'PUBLISHED'])
    assert.equal(await reasonOf(world, ids[0] as never), 'type_unsupported')
    assert.equal(await stateOf(world.storage, later), 'PUBLISHED')
    await world.close()
  })
})
