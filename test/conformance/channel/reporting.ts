import assert from 'node:assert/strict'
import { becomes, type NewChannelWorld, promisingIn, type Suite, sendBy } from './channel-world.ts'

const REPORTED_WITHIN_MS = 10_000
// Longer than any channel waits between two polls.
const LATE_MS = 2_000

/** What a channel reports by itself, and that it stops reporting when it is stopped. */
export function reportsAreApplied(suite: Suite, newWorld: NewChannelWorld): void {
  const promises = promisingIn(suite, newWorld)

  promises('reports under the connection, the message and the attempt', async (world) => {
    const handover = await world.handover({ attemptNumber: 3 })
    const outcome = await sendBy(world.channel, handover)
    const isOver = await becomes(REPORTED_WITHIN_MS, () => world.receipts.some(({ kind }) => kind === 'read'))

    assert.ok(isOver, 'no report came that it was read')
    assert.ok(outcome.kind === 'accepted')
    for (const receipt of world.receipts) {
      assert.equal(receipt.connectionId, handover.connectionId)
      assert.ok(receipt.messageId === handover.messageId || receipt.networkId === outcome.networkId)
      assert.ok(receipt.attemptNumber === null || receipt.attemptNumber === 3)
      assert.equal(receipt.networkId ?? outcome.networkId, outcome.networkId)
      assert.ok(Math.abs(receipt.at - Date.now()) < 60_000, 'it is dated otherwise than it happened')
    }
  })

  promises('repeats a report that came too early after its attempt has ended', async (world) => {
    world.receiptEnd = 'too-early'
    await sendBy(world.channel, await world.handover())
    assert.ok(await becomes(REPORTED_WITHIN_MS, () => world.receipts.some(({ kind }) => kind === 'read')))
    const { length } = world.receipts

    world.receiptEnd = 'applied'

    assert.ok(
      await becomes(REPORTED_WITHIN_MS, () => world.receipts.slice(length).some(({ kind }) => kind === 'read')),
      'what was too early was lost',
    )
  })

  promises('reports nothing from another network or about another connection', async (world) => {
    const handover = await world.handover()
    if (!world.bringForeignReports) return
    await world.bringForeignReports(handover.messageId)
    await new Promise((resolve) => setTimeout(resolve, LATE_MS))

    assert.deepEqual(world.receipts, [])
    assert.notEqual((await world.channel.reconcile({ ...handover })).kind, 'accepted')
  })

  promises('reports nothing after it has stopped, and leaves that to another worker', async (world) => {
    await world.channel.stop()
    await sendBy(world.create(), await world.handover())
    await new Promise((resolve) => setTimeout(resolve, LATE_MS))
    const reported = [...world.receipts]

    await world.startAnother()

    assert.deepEqual(reported, [])
    assert.ok(await becomes(REPORTED_WITHIN_MS, () => world.receipts.some(({ kind }) => kind === 'read')))
  })

  promises('can be stopped before it was started, and twice', async (world) => {
    const fresh = world.create()
    await fresh.stop()
    await fresh.stop()

    await world.channel.stop()
    await world.channel.stop()
  })
}
