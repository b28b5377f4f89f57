import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { StateCleanup } from '../../../src/channels/receipts/state-cleanup.ts'
import { FORGOTTEN_KINDS } from '../../../src/channels/whatsapp-cloud/index.ts'
import { REPORT_KIND } from '../../../src/channels/whatsapp-cloud/statuses/reported.ts'
import { openWorlds, status, withCallbacks } from '../../support/callback-world/callback-world.ts'

describe.each(openWorlds())('what Meta reports, on %s', (_, newWorld) => {
  it('moves a message forward, in any order and however often it arrives', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)

      for (const kind of ['read', 'sent', 'delivered', 'read', 'delivered', 'sent'])
        await world.tell(sender, status(kind, id, 'wamid.A'))
      await world.applied()

      assert.equal(await world.stateOf(id), 'READ')
      assert.deepEqual((await world.reportsOf(id)).toSorted(), ['receipt-delivered', 'receipt-read'])
    })
  })

  it('is matched by Meta’s id if our own did not come back with it', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)

      await world.tell(sender, { id: 'wamid.A', status: 'played' }, { id: 'wamid.B', status: 'read' })
      await world.applied()

      assert.equal(await world.stateOf(id), 'READ')
      assert.deepEqual(world.noted('callback.applied'), ['read applied', 'read message-unknown'])
    })
  })

  it('is applied by another process if the one that received it does not apply any', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      const dispatching = world.newApplier()
      dispatching.start(world.events)

      await world.tell(sender, status('delivered', id, 'wamid.A'))
      await world.applied()
      await dispatching.stop()

      assert.equal(await world.stateOf(id), 'DELIVERED')
    })
  })

  it('shows a failure after Meta had accepted the message, with its reason and words', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)
      const error = { code: 131026, title: 'Message undeliverable', message: 'Message undeliverable' }
      const errors = [{ ...error, error_data: { details: 'Message Undeliverable.' } }]

      await world.tell(sender, status('sent', id, 'wamid.A'), { ...status('failed', id, 'wamid.A'), errors })
      await world.applied()

      const { message, timeline } = await world.storage.administration.explainMessage(id)
      assert.deepEqual([message.state, message.reason], ['FAILED', 'whatsapp_131026'])
      assert.equal(
        timeline.find(({ kind }) => kind === 'receipt-failed')?.words,
        '(131026) Message undeliverable: Message Undeliverable.',
      )
    })
  })

  it('G5: resolves an unknown result if it comes minutes later', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const taken = await world.open(sender)
      await world.end(sender, 'UNCONFIRMED')
      const silent = await world.open(sender)
      await world.end(sender, 'UNCONFIRMED')
      world.applier.start(world.events)
      await world.storage.clock.pass(600_000)

      await world.tell(sender, status('sent', taken, 'wamid.A'))
      await world.applied()

      assert.deepEqual([await world.stateOf(taken), await world.stateOf(silent)], ['PUBLISHED', 'UNCONFIRMED'])
    })
  })

  it('G5: is evidence for an attempt whose call is still open, and is applied after the call has ended', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.open(sender)
      const open = { ...sender, messageId: id, to: '15550100000', attemptNumber: 1 }
      world.applier.start(world.events)
      const before = await world.applier.findEcho(open)

      await world.tell(sender, status('delivered', id, 'wamid.A'))
      await world.storage.clock.pass(3_000)
      const { kind } = await eventually(
        () => world.applier.findEcho(open),
        ({ kind }) => kind === 'accepted',
      )
      const other = await world.applier.findEcho({ ...open, attemptNumber: 2 })
      const whileOpen = await world.stateOf(id)
      await world.end(sender, { wamid: 'wamid.A' })
      await world.applied()

      assert.deepEqual(
        [before.kind, kind, other.kind, whileOpen],
        ['nothing-yet', 'accepted', 'nothing-yet', 'SENDING'],
      )
      assert.equal(await world.stateOf(id), 'DELIVERED')
    })
  })

  it('shows a failure that overtook the answer to our call, even without our mark', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.open(sender)
      world.applier.start(world.events)

      await world.tell(sender, { id: 'wamid.A', status: 'failed', errors: [{ code: 131026 }] })
      await world.storage.clock.pass(2_000)
      await world.end(sender, { wamid: 'wamid.A' })
      await world.applied()

      const { message } = await world.storage.administration.explainMessage(id)
      assert.deepEqual([message.state, message.reason], ['FAILED', 'whatsapp_131026'])
    })
  })

  it('does not wait behind an earlier report that came too soon', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [one, other] = [await world.addSender(), await world.addSender()]
      const early = await world.open(one)
      const ids = [await world.publish(other, 'wamid.1'), await world.publish(other, 'wamid.2')]
      world.applier.start(world.events)

      await world.tell(one, status('delivered', early, 'wamid.A'))
      for (const [i, id] of ids.entries()) await world.tell(other, status('read', id, `wamid.${i + 1}`))
      await world.applied(1)
      await eventually(
        () => Promise.all(ids.map((id) => world.stateOf(id))),
        (s) => s.every((each) => each === 'READ'),
      )

      assert.equal(await world.stateOf(early), 'SENDING')
      assert.equal((await world.waiting()).length, 1)
    })
  })

  it('is applied once by several workers, and by another one if the first dies in the middle', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const ids = [await world.publish(sender, 'wamid.1'), await world.publish(sender, 'wamid.2')]
      const dead = Promise.withResolvers<void>()
      world.applier.start(world.events)
      world.beforeReceipt = () => dead.promise
      for (const [i, id] of ids.entries()) await world.tell(sender, status('delivered', id, `wamid.${i + 1}`))
      await world.storage.clock.pass(100)
      const others = [world.newApplier(), world.newApplier()]
      world.beforeReceipt = () => Promise.resolve()

      for (const other of others) other.start(world.events)
      await world.applied()
      dead.resolve()
      await world.applier.stop()
      await Promise.all(others.map((other) => other.stop()))

      for (const id of ids) {
        assert.equal(await world.stateOf(id), 'DELIVERED')
        assert.deepEqual(await world.reportsOf(id), ['receipt-delivered'])
      }
    })
  })

  it('is read again after storage was away', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)
      world.beforeReceipt = () => Promise.reject(new Error('storage is away'))
      await world.tell(sender, status('delivered', id, 'wamid.A'))
      await world.storage.clock.pass(5_000)
      const before = await world.stateOf(id)

      world.beforeReceipt = () => Promise.resolve()
      await world.applied()

      assert.deepEqual([before, await world.stateOf(id)], ['PUBLISHED', 'DELIVERED'])
    })
  })

  it('does not wait behind an unreadable entry of another version', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      const { connectionId } = sender
      for (const [i, value] of ['', 'null', '{"statuses":1}', '{}'].entries())
        await world.memory.add(REPORT_KIND, { connectionId, key: `${i}`, value, at: 1, remindAt: 1 })
      world.applier.start(world.events)

      await world.tell(sender, status('read', id, 'wamid.A'))
      await world.applied()

      assert.equal(await world.stateOf(id), 'READ')
      assert.deepEqual(world.noted('callback.ignored'), Array(4).fill('entry_unreadable 1'))
    })
  })

  it('is recorded once even if its time is impossible', async () => {
    await withCallbacks(newWorld, async (world) => {
      // Message ids contain the machine's own time.
      world.storage.clock.setNow(Date.now() - world.storage.clock.now())
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)

      for (const timestamp of ['99999999999', '1', 'soon', 1e300, null]) {
        await world.tell(sender, { ...status('delivered', id, 'wamid.A'), timestamp })
        await world.applied()
        await world.storage.clock.pass(60_000)
      }

      const { timeline } = await world.storage.administration.explainMessage(id)
      const reports = timeline.filter(({ kind }) => kind === 'receipt-delivered')
      assert.equal(reports.length, 1)
      assert.ok((reports[0]?.at ?? Number.POSITIVE_INFINITY) <= world.storage.clock.now())
    })
  })

  it('is remembered as an echo for a day only', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.open(sender)
      world.applier.start(world.events)
      await world.tell(sender, status('sent', id, 'wamid.A'))
      const open = { ...sender, messageId: id, to: '15550100000', attemptNumber: 1 }
      await eventually(
        async () => {
          await world.storage.clock.pass(50)
          return world.applier.findEcho(open)
        },
        ({ kind }) => kind === 'accepted',
      )
      await world.end(sender, { wamid: 'wamid.A' })
      await world.applied()

      world.storage.clock.setNow(25 * 3_600_000)
      const forgotten = new StateCleanup(world.memory, world.storage.clock, FORGOTTEN_KINDS)
      forgotten.start()
      const { kind } = await eventually(
        async () => {
          await world.storage.clock.pass(60_000)
          return world.applier.findEcho(open)
        },
        (found) => found.kind === 'nothing-yet',
      )

      forgotten.stop()
      assert.equal(kind, 'nothing-yet')
    })
  })
})

/** Polls rarely after a while. Each poll lets time pass: some hours in all are fine, days on a busy machine would not be. */
async function eventually<T>(read: () => Promise<T>, isRight: (found: T) => boolean): Promise<T> {
  const began = performance.now()
  for (let turn = 0; ; turn++) {
    const found = await read()
    const isOver = turn >= 300 && performance.now() - began > 30_000
    if (isRight(found) || isOver) return found
    await new Promise((resolve) => setTimeout(resolve, turn < 300 ? 5 : 100))
  }
}
