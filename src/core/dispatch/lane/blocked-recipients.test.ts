import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ANNA, RECIPIENT, type Sender } from '../../../../test/conformance/storage-world.ts'
import {
  ACCEPTED,
  type DispatchWorld,
  openDispatchWorld,
  type TestWorker,
} from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import { overrideLanes } from '../../../../test/support/dispatch-world/override-lanes.ts'
import type { MessageId } from '../../ids.ts'
import type { Outcome } from '../../ports/channel.ts'
import { StorageUnavailable } from '../../ports/lanes.ts'

let world: DispatchWorld
let sender: Sender
let worker: TestWorker

const REFUSED: Outcome = {
  kind: 'rejected',
  failure: { class: 'transient', code: 'busy', words: null, suspectsNetwork: false, retryAfterMs: 5_000 },
}

/** As the service is notified of changes by other processes. */
function goOn(of: Sender = sender): Promise<void> {
  worker.dispatcher.change([of.connectionId])
  return world.pass(1_000)
}

function block(...numbers: string[]) {
  return world.storage.blockLists.block(sender.accountId, { numbers, reason: 'asked to' }, 'test')
}

async function ends(...ids: MessageId[]): Promise<readonly string[]> {
  const stories = ids.map((id) => world.storage.administration.explainMessage(id))
  return (await Promise.all(stories)).map(({ message }) => `${message.state} ${message.reason}`)
}

describe('a recipient who asked to stop', () => {
  beforeEach(async () => {
    world = await openDispatchWorld()
    sender = await world.addSenderOf(ANNA, [ANNA])
    return () => world.close()
  })

  it('G13: is not written to: what waits fails with that reason when its turn comes, without an attempt', async () => {
    const [first, second] = [await world.accept(sender, 'one'), await world.accept(sender, 'two')]
    await block(RECIPIENT)

    worker = await world.startWorker(ANNA)
    await goOn()

    assert.deepEqual(await ends(first, second), ['FAILED recipient_blocked', 'FAILED recipient_blocked'])
    assert.deepEqual(world.sent, [])
    assert.equal((await world.storage.administration.explainMessage(first)).message.attempts, 0)
  })

  it('is written to while only others are blocked, and again once unblocked', async () => {
    await block('15550199999')
    worker = await world.startWorker(ANNA)
    const before = await world.accept(sender, 'one')
    await goOn()
    await block(RECIPIENT)
    const blocked = await world.accept(sender, 'two')
    await goOn()
    await world.storage.blockLists.unblock(sender.accountId, [RECIPIENT], 'test')
    const after = await world.accept(sender, 'three')
    await goOn()

    assert.deepEqual(await ends(before, blocked, after), [
      'PUBLISHED null',
      'FAILED recipient_blocked',
      'PUBLISHED null',
    ])
    assert.deepEqual(world.sent, ['anna: one', 'anna: three'])
  })

  it('G13: is not written to by the step that settles the message before', async () => {
    world.answer = null
    worker = await world.startWorker(ANNA)
    const first = await world.accept(sender, 'one')
    const second = await world.accept(sender, 'two')
    await goOn()
    await block(RECIPIENT)

    world.callOf('one').end(ACCEPTED)
    await world.pass(1_000)

    // What was open runs to its end.
    assert.deepEqual(await ends(first, second), ['PUBLISHED null', 'FAILED recipient_blocked'])
    assert.deepEqual(world.sent, ['anna: one'])
  })

  it('G13: is not tried again after a failure', async () => {
    world.answer = () => REFUSED
    worker = await world.startWorker(ANNA)
    const id = await world.accept(sender, 'one')
    await goOn()
    const tries = world.calls.length
    await block(RECIPIENT)

    await world.pass(60_000)

    assert.ok(tries > 0)
    assert.equal(world.calls.length, tries)
    assert.deepEqual(await ends(id), ['FAILED recipient_blocked'])
  })

  it('G13: is not called when the block was committed while the attempt was', async () => {
    const { lanes } = world.storage
    const record: typeof lanes.record = async (step) => {
      const result = await lanes.record(step)
      if (step.start && world.calls.length === 0) await block(RECIPIENT)
      return result
    }
    worker = await world.startWorker(ANNA, { lanes: overrideLanes(lanes, { record }) })
    const id = await world.accept(sender, 'one')

    await goOn()

    assert.deepEqual([world.sent, await ends(id)], [[], ['FAILED recipient_blocked']])
  })

  it.each(['stops', 'gives the lane up'] as const)(
    'G13: is not called by a worker that %s before it could check whether the recipient is blocked',
    async (ending) => {
      let reads = 0
      let fail: (error: Error) => void = () => {}
      // The first check lets the attempt start; the one right before the call gets no answer.
      const isBlocked = () =>
        reads++ === 0
          ? false
          : new Promise<boolean>((_, reject) => {
              fail = reject
            })
      worker = await world.startWorker(ANNA, { blocked: { isBlocked } })
      const id = await world.accept(sender, 'one')
      await goOn()

      const stopped =
        ending === 'stops' ? worker.dispatcher.stop(1_000) : worker.dispatcher.dropClaim(sender.connectionId)
      fail(new StorageUnavailable('the database is away', false))
      await world.pass(0)
      await stopped

      assert.equal(reads, 2)
      assert.deepEqual(world.sent, [])
      // The next worker finishes the open attempt, unless this worker could still record that there was no call.
      const { message } = await world.storage.administration.explainMessage(id)
      assert.equal(message.state, ending === 'stops' ? 'QUEUED' : 'SENDING')
    },
  )

  it('G6: is not called when the lane was released during that check, whatever the answer', async () => {
    let reads = 0
    let answer: (isBlocked: boolean) => void = () => {}
    const isBlocked = () =>
      reads++ === 0
        ? false
        : new Promise<boolean>((resolve) => {
            answer = resolve
          })
    worker = await world.startWorker(ANNA, { blocked: { isBlocked } })
    await world.accept(sender, 'one')
    await goOn()

    worker.dispatcher.dropClaim(sender.connectionId)
    answer(false)
    await world.pass(0)

    assert.deepEqual([reads, world.sent], [2, []])
  })

  it('G13: stays unconfirmed where an attempt before may have arrived', async () => {
    world.answer = null
    const resending = await world.addSenderOf(ANNA, [ANNA], { onUnconfirmed: 'resend' })
    worker = await world.startWorker(ANNA)
    const id = await world.accept(resending, 'one')
    await goOn(resending)
    await world.storage.blockLists.block(resending.accountId, { numbers: [RECIPIENT], reason: null }, 'test')

    world.callOf('one').end({ kind: 'unknown', words: 'the line broke' })
    await world.pass(60_000)

    assert.deepEqual([world.calls.length, await ends(id)], [1, ['UNCONFIRMED result_unknown']])
  })

  it('is not sent anything again, with a sentence, until unblocked', async () => {
    await block(RECIPIENT)
    worker = await world.startWorker(ANNA)
    const id = await world.accept(sender, 'one')
    await goOn()
    const { administration } = world.storage

    await assert.rejects(administration.retryMessage(id, 'test'), { code: 'recipient_is_blocked' })
    await world.storage.blockLists.unblock(sender.accountId, [RECIPIENT], 'test')
    const again = await administration.retryMessage(id, 'test')
    await goOn()

    assert.deepEqual(await ends(again.id), ['PUBLISHED null'])
  })
})
