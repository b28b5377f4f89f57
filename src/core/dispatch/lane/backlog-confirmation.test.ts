import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ANNA, BEN, type Sender } from '../../../../test/conformance/storage-world.ts'
import { type DispatchWorld, openDispatchWorld } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { createLaneViews } from '../../../storage/queries/lanes/lane-views.ts'
import type { Outcome } from '../../ports/channel.ts'

const MINUTE = 60_000
// The shortest that is worth a test: time that is moved by hand takes time too.
const ALLOWED_MS = 10 * MINUTE
const AWAY: Outcome = {
  kind: 'rejected',
  failure: { class: 'connection', code: 'connection_away', words: null, suspectsNetwork: false, retryAfterMs: null },
}

let world: DispatchWorld
let sender: Sender

function wait() {
  return world.storage.administration
    .listConnections(sender.accountId)
    .then((all) => all.find(({ id }) => id === sender.connectionId)?.reason ?? null)
}

function setState(state: 'active' | 'paused') {
  return world.storage.administration.setConnectionState(sender.connectionId, state, 'test')
}

describe('a lane that asks before an old backlog drains', () => {
  beforeEach(async () => {
    world = await openDispatchWorld()
    sender = await world.addSenderOf(ANNA, [ANNA, BEN], {
      confirmBacklogAfterMs: ALLOWED_MS,
      timeToLiveMs: 40 * MINUTE,
    })
    return () => world.close()
  })

  const confirm = () =>
    createLaneViews(world.storage.store).confirmBacklog(
      { accountId: sender.accountId, id: sender.connectionId },
      'anna',
    )

  it('G3 G10: waits after it was paused for long, with what was accepted since behind it, until a person confirms', async () => {
    await world.startWorker(ANNA)
    await setState('paused')
    await world.accept(sender, 'old')
    await world.pass(15 * MINUTE)
    await setState('active')
    await world.accept(sender, 'new')
    await world.pass(15_000)
    const asked = [await wait(), world.sent]

    await confirm()
    await world.pass(15_000)

    assert.deepEqual(asked, ['backlog_confirmation', []])
    assert.deepEqual([await wait(), world.sent], [null, ['anna: old', 'anna: new']])
  })

  it('drains by itself after a short pause', async () => {
    await world.startWorker(ANNA)
    await setState('paused')
    await world.accept(sender, 'old')
    await world.pass(5 * MINUTE)
    await setState('active')
    await world.pass(15_000)

    assert.deepEqual(world.sent, ['anna: old'])
  })

  it('waits after a long time without a worker, also after another worker took over', async () => {
    await world.accept(sender, 'old')
    await world.pass(15 * MINUTE)
    const anna = await world.startWorker(ANNA)
    await world.pass(1_000)
    const before = [await wait(), world.sent]
    anna.crash()
    await world.startWorker(BEN)
    await world.pass(60_000)

    assert.deepEqual(before, ['backlog_confirmation', []])
    assert.deepEqual([await wait(), world.sent], ['backlog_confirmation', []])
    await confirm()
    await world.pass(60_000)
    assert.deepEqual(world.sent, ['ben: old'])
  })

  it('is tried no more once its network has been away for so long; confirmed, it is tried as ever', async () => {
    world.answer = () => AWAY
    await world.startWorker(ANNA)
    await world.accept(sender, 'old')
    await world.pass(5 * MINUTE)
    const early = await wait()
    await world.pass(10 * MINUTE)
    const [late, tries] = [await wait(), world.calls.length]
    await world.pass(5 * MINUTE)

    assert.deepEqual([early, late], ['connection_away', 'backlog_confirmation'])
    assert.equal(world.calls.length, tries)
    await confirm()
    await world.pass(5 * MINUTE)
    assert.ok(world.calls.length > tries)
    assert.equal(await wait(), 'connection_away')
  })

  it('never asks while it moves slowly but steadily', async () => {
    await world.storage.administration.changeConnection(
      sender.connectionId,
      { policy: { ...(await policy()), leastGapMs: 8 * MINUTE } },
      'test',
    )
    for (const text of ['one', 'two', 'three', 'four']) await world.accept(sender, text)
    await world.startWorker(ANNA)

    await world.pass(32 * MINUTE)

    assert.deepEqual(world.sent, ['anna: one', 'anna: two', 'anna: three', 'anna: four'])
  })

  it('lets what waits grow too old meanwhile', async () => {
    const id = await world.accept(sender, 'old')
    await world.pass(15 * MINUTE)
    await world.startWorker(ANNA)
    await world.pass(30 * MINUTE)

    const { message } = await world.storage.administration.explainMessage(id)
    assert.equal(message.state, 'EXPIRED')
  })

  it('refuses a confirmation that no lane waits for', async () => {
    await assert.rejects(confirm(), { code: 'lane_not_waiting' })
  })

  async function policy() {
    const all = await world.storage.administration.listConnections(sender.accountId)
    const found = all.find(({ id }) => id === sender.connectionId)
    if (!found) throw new Error('the connection has gone')
    return found.policy
  }
})
