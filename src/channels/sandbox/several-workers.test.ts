import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import { ANY_RECIPIENT, createWorld, removeFolders } from '../../../test/support/sandbox-world/sandbox-world.ts'
import { planRead } from './receipts.ts'

const START = new HandClock().now()

afterEach(removeFolders)

describe('the sandbox carried by several workers', () => {
  it('0002 counts its attempts across workers', async () => {
    const anna = createWorld()
    const ben = createWorld(anna)

    const outcomes = [
      await anna.send('15550100002', { attemptNumber: 1 }),
      await ben.send('15550100002', { attemptNumber: 2 }),
      await anna.send('15550100002', { attemptNumber: 3 }),
    ]

    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['rejected', 'rejected', 'accepted'],
    )
  })

  it('0006 is away for ten seconds from the first attempt of any worker on', async () => {
    const anna = createWorld()
    const ben = createWorld(anna)
    await anna.send('15550100006')
    await anna.clock.pass(4_000)

    const second = await ben.send('15550100006', { attemptNumber: 2 })
    await anna.clock.pass(6_000)

    assert.equal(second.kind === 'rejected' && second.failure.retryAfterMs, 6_000)
    assert.equal((await ben.send('15550100006', { attemptNumber: 3 })).kind, 'accepted')
  })

  it('G5: shows what became of the attempt of a dead worker', async () => {
    const anna = createWorld()
    const ben = createWorld(anna)
    await anna.send(ANY_RECIPIENT)
    await anna.send('15550100007')

    assert.deepEqual(
      [
        await ben.reconcile(ANY_RECIPIENT),
        await ben.reconcile('15550100007'),
        await ben.reconcile('15550100007', 2),
      ].map(({ kind }) => kind),
      ['accepted', 'accepted', 'not-sent'],
    )
  })
})

describe('the receipts of the sandbox', () => {
  const settings = { deliveredAfterMs: 1_000, readAfterMs: 3_000 }

  it('come when the connection’s settings say', async () => {
    const { send, clock, receipts } = createWorld()
    await send(ANY_RECIPIENT, { settings })

    await clock.pass(1_000)
    await clock.pass(0)
    const first = receipts.map(({ kind }) => kind)
    await clock.pass(2_000)
    await clock.pass(0)

    assert.deepEqual([first, receipts.map(({ kind }) => kind)], [['delivered'], ['delivered', 'read']])
  })

  it('outlive a restart, and come once', async () => {
    const world = createWorld()
    await world.send(ANY_RECIPIENT, { settings })
    await world.channel.stop()
    await world.clock.pass(10_000)

    const again = createWorld(world)
    await again.clock.pass(0)
    const third = createWorld(world)
    await third.clock.pass(10_000)

    assert.deepEqual(world.receipts, [])
    assert.deepEqual(
      again.receipts.map(({ kind }) => kind),
      ['delivered', 'read'],
    )
    assert.deepEqual(third.receipts, [])
  })

  it('come from another worker when the one that planned them dies, soon and without a restart', async () => {
    const dies = createWorld()
    const lives = createWorld(dies)
    await dies.send(ANY_RECIPIENT, { settings })
    await dies.channel.stop()

    await dies.clock.pass(1_000)
    const inTime = lives.receipts.length
    await dies.clock.pass(8_000)

    assert.deepEqual([inTime, dies.receipts], [0, []])
    assert.deepEqual(
      lives.receipts.map(({ kind, at }) => [kind, at - START]),
      [
        ['delivered', 1_000],
        ['read', 3_000],
      ],
    )
    assert.deepEqual(await lives.memory.due('receipt', Number.POSITIVE_INFINITY, 10), [])
  })

  it('come once and in time while all workers live', async () => {
    const anna = createWorld()
    const others = [createWorld(anna), createWorld(anna)]
    for (let i = 0; i < 20; i++) {
      await anna.send(`1555000${i + 1000}`, { settings })
      await anna.clock.pass(300)
    }

    await anna.clock.pass(10_000)

    assert.equal(anna.receipts.length, 40)
    assert.deepEqual(
      others.map(({ receipts }) => receipts),
      [[], []],
    )
  })

  it('are left for a while to the worker that planned them, which may be at it', async () => {
    const anna = createWorld()
    const ben = createWorld(anna)
    anna.refusesReceipts = true
    await anna.send(ANY_RECIPIENT, { settings: { deliveredAfterMs: 1_000, readAfterMs: null } })

    await anna.clock.pass(2_900)
    const before = ben.receipts.length
    await anna.clock.pass(2_000)

    assert.deepEqual([before, ben.receipts.length], [0, 1])
  })

  it('come too when they are of tomorrow, without a timer for each', async () => {
    const world = createWorld()
    await world.clock.pass(0)
    const day = { deliveredAfterMs: 24 * 3_600_000, readAfterMs: null }
    const before = world.clock.timers
    for (let i = 0; i < 10; i++) await world.send(`1555000${i + 1000}`, { settings: day })
    const timers = world.clock.timers - before

    await world.clock.pass(24 * 3_600_000 - 1)
    const early = world.receipts.length
    await world.clock.pass(3_000)

    assert.deepEqual([timers, early, world.receipts.length], [0, 0, 10])
  })

  it('come within seconds when a person reads on the phone, also where none is planned', async () => {
    const { send, memory, clock, receipts } = createWorld()
    await send(ANY_RECIPIENT, { settings: { deliveredAfterMs: null, readAfterMs: null } })
    const reported = { connectionId: 'connection', messageId: `message to ${ANY_RECIPIENT}`, attemptNumber: 1 } as never
    const at = clock.now()

    await planRead(memory, reported, at)
    await planRead(memory, reported, at + 1)
    await clock.pass(3_000)

    assert.deepEqual(
      receipts.map((receipt) => [receipt.kind, receipt.at]),
      [['read', at]],
    )
  })

  it('come with a later query when they could not be applied', async () => {
    const world = createWorld()
    world.refusesReceipts = true
    await world.send(ANY_RECIPIENT, { settings })
    await world.clock.pass(5_000)
    const before = world.receipts.length

    world.refusesReceipts = false
    await world.clock.pass(4_000)

    assert.deepEqual([before, world.receipts.length], [0, 2])
  })

  it('come for a message whose worker died before it had planned them', async () => {
    const dies = createWorld()
    const lives = createWorld(dies)
    dies.memory.refusesKind = 'receipt'
    const outcome = await dies.send(ANY_RECIPIENT, { settings })
    await dies.channel.stop()
    dies.memory.refusesKind = null

    const evidence = await lives.reconcile(ANY_RECIPIENT)
    await dies.clock.pass(10_000)

    assert.deepEqual([outcome.kind, evidence.kind], ['unknown', 'accepted'])
    assert.deepEqual(
      lives.receipts.map(({ kind }) => kind),
      ['delivered', 'read'],
    )
  })

  it('all come after a long time without queries', async () => {
    const world = createWorld()
    const plain = { deliveredAfterMs: 1_000, readAfterMs: null }
    for (let i = 0; i < 1_200; i++) await world.send(`155500${i + 10_000}`, { settings: plain })
    await world.channel.stop()
    await world.clock.pass(3_600_000)

    const again = createWorld(world)
    await again.clock.pass(5_000)

    assert.equal(again.receipts.length, 1_200)
    assert.equal(new Set(again.receipts.map(({ messageId }) => messageId)).size, 1_200)
  })

  it('cost one read every two seconds while there are none', async () => {
    const { clock, memory } = createWorld()
    await clock.pass(0)
    const before = memory.queries

    await clock.pass(60_000)

    assert.equal(memory.queries - before, 30)
  })
})
