import assert from 'node:assert/strict'
import type { MessageId } from '../../src/core/ids.ts'
import type { Receipt } from '../../src/core/ports/channel.ts'
import {
  ANNA,
  accept,
  addSender,
  head,
  holdLane,
  type NewWorld,
  open,
  type StorageWorld,
  type Suite,
  settled,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

/** What every engine promises about reports that come twice: networks repeat themselves, and two workers may report the same. */
export function receiptsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('tells of a report once, however often it is brought', async () => {
    const { world, id } = await published(newWorld)
    const delivered = report(world, id, 'delivered')

    const answers = [await world.lanes.applyReceipt(delivered), await world.lanes.applyReceipt(delivered)]
    await world.lanes.applyReceipt(report(world, id, 'read'))
    await world.lanes.applyReceipt(delivered)

    assert.deepEqual(answers, ['applied', 'applied'])
    assert.equal(await stateOf(world, id), 'READ')
    assert.deepEqual(
      (await timelineOf(world, id)).filter((kind) => kind.startsWith('receipt')),
      ['receipt-delivered', 'receipt-read'],
    )
    await world.close()
  })

  it('tells of a report once when two bring it at the same time', async () => {
    const { world, id } = await published(newWorld)
    const delivered = report(world, id, 'delivered')

    await Promise.all(Array.from({ length: 8 }, () => world.lanes.applyReceipt(delivered)))

    assert.deepEqual(
      (await timelineOf(world, id)).filter((kind) => kind.startsWith('receipt')),
      ['receipt-delivered'],
    )
    await world.close()
  })

  it('does not take the repeat of a contrary report for more evidence', async () => {
    const { world, id } = await published(newWorld)
    await world.lanes.applyReceipt({ ...report(world, id, 'failed'), code: 'refused_later', words: 'no' })
    const contrary = report(world, id, 'delivered')
    await world.lanes.applyReceipt(contrary)
    const once = await stateOf(world, id)

    await world.lanes.applyReceipt(contrary)

    assert.deepEqual([once, await stateOf(world, id)], ['PUBLISHED', 'PUBLISHED'])
    assert.deepEqual(
      (await timelineOf(world, id)).filter((kind) => kind.startsWith('receipt')),
      ['receipt-failed', 'receipt-contrary'],
    )
    await world.close()
  })

  it('tells of a second report of the same kind from another time', async () => {
    const { world, id } = await published(newWorld)
    await world.lanes.applyReceipt(report(world, id, 'delivered'))
    await world.clock.pass(1_000)

    await world.lanes.applyReceipt(report(world, id, 'delivered'))

    assert.deepEqual(
      (await timelineOf(world, id)).filter((kind) => kind.startsWith('receipt')),
      ['receipt-delivered', 'receipt-delivered'],
    )
    await world.close()
  })
}

async function published(newWorld: NewWorld): Promise<{ world: StorageWorld; id: MessageId }> {
  const world = await newWorld()
  const sender = await addSender(world)
  const id = await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(step(world, lane, { close: settled(world, message) }))
  return { world, id }
}

function report({ clock }: StorageWorld, messageId: MessageId, kind: Receipt['kind']): Receipt {
  return { messageId, kind, at: clock.now(), code: null, words: null }
}
