import assert from 'node:assert/strict'
import type { MessageId } from '../../src/core/ids.ts'
import { timelineTitle } from '../../src/core/sentences/explain-entry.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addSender,
  attempt,
  claim,
  countMessages,
  head,
  holdLane,
  type NewWorld,
  open,
  report,
  type Sender,
  type StorageWorld,
  type Suite,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

/** What every engine promises a channel that repeats a failed message by itself. */
export function sendingAgainKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('puts a copy of a failed message at the end of its line, and links the two', async () => {
    const { world, sender, about } = await failed(newWorld)
    const waiting = await accept(world, sender, { text: 'Second' })

    const copy = await world.sendAgain(about)

    assert.ok(copy)
    const run = await world.lanes.fetchNext(sender.connectionId, 10, 0)
    assert.deepEqual(
      run.map(({ id }) => id),
      [waiting, copy],
    )
    assert.deepEqual(run[1]?.content, { type: 'message', text: 'Hello' })
    const [old, young] = [
      await world.administration.explainMessage(about.messageId),
      await world.administration.explainMessage(copy),
    ]
    assert.deepEqual([old.resentAs, young.resendOf], [copy, about.messageId])
    assert.deepEqual([old.message.state, young.message.state], ['FAILED', 'QUEUED'])
    assert.ok((await timelineOf(world, about.messageId)).includes('sent-again'))
    const entries = [...old.timeline, ...young.timeline].filter(({ kind }) => kind === 'sent-again')
    assert.deepEqual(
      entries.map(({ code, facts }) => [code, facts]),
      [
        ['whatsapp_131047', { newMessage: copy, by: 'channel' }],
        ['whatsapp_131047', { oldMessage: about.messageId, by: 'channel' }],
      ],
    )
    assert.equal(
      timelineTitle(entries[1] ?? assert.fail(), young),
      'Made by Nuncio to repeat another message as a template',
    )
    await world.close()
  })

  it('repeats no message that failed for another reason', async () => {
    const { world, about } = await failed(newWorld)

    assert.equal(await world.sendAgain({ ...about, reason: 'whatsapp_131050' }), null)
    await world.close()
  })

  it('also repeats a message with an attachment', async () => {
    const { world, sender, about } = await failed(newWorld, { media: true })

    const copy = await world.sendAgain(about)

    const [only] = await world.lanes.fetchNext(sender.connectionId, 10, 0)
    assert.deepEqual([only?.id, only?.content?.type], [copy, 'image'])
    await world.close()
  })

  it('G5: makes one copy, however often and by however many workers it is requested', async () => {
    const { world, about } = await failed(newWorld)

    const copies = await Promise.all(Array.from({ length: 5 }, () => world.sendAgain(about)))
    const later = await world.sendAgain(about)

    assert.equal(copies.filter((copy) => copy !== null).length, 1)
    assert.equal(later, null)
    assert.equal(await countMessages(world), 2)
    await world.close()
  })

  it('G5: repeats no message that a person has sent again', async () => {
    const { world, about } = await failed(newWorld)
    await world.administration.retryMessage(about.messageId, 'test')

    assert.equal(await world.sendAgain(about), null)
    assert.equal(await countMessages(world), 2)
    await world.close()
  })

  it('G5: repeats only failed messages', async () => {
    const { world, sender, about } = await failed(newWorld)
    const waiting = await accept(world, sender)
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'read' }))

    const copies = [
      await world.sendAgain(about),
      await world.sendAgain({ ...about, messageId: waiting }),
      await world.sendAgain({ ...about, messageId: 'unknown' as MessageId }),
      await world.sendAgain({ ...about, messageId: 'no\0body' as MessageId }),
    ]

    assert.equal(await stateOf(world, about.messageId), 'PUBLISHED')
    assert.deepEqual(copies, [null, null, null, null])
    await world.close()
  })

  it('G8: repeats no message of another connection, and none of a removed one', async () => {
    const { world, about } = await failed(newWorld)
    const other = await addSender(world, { number: '15550001001' })

    const foreign = await world.sendAgain({ ...about, connectionId: other.connectionId })
    await world.administration.removeConnection(about.connectionId, true, 'test')
    const gone = await world.sendAgain(about)

    assert.deepEqual([foreign, gone], [null, null])
    assert.equal(await countMessages(world), 1)
    await world.close()
  })

  it('starts the lane, and names the channel in the audit log', async () => {
    const { world, sender, about } = await failed(newWorld)

    const copy = await world.sendAgain(about)

    const [lane] = await claim(world, ANNA, [sender.connectionId])
    assert.ok(lane)
    assert.equal((await head(world, sender.connectionId)).id, copy)
    assert.deepEqual(await world.auditOf(about.messageId), [{ actor: 'channel', action: 'message.retry' }])
    await world.close()
  })

  it('works while other messages are accepted and sent', async () => {
    const { world, sender, about } = await failed(newWorld)

    const [copy, ...accepted] = await Promise.all([
      world.sendAgain(about),
      ...Array.from({ length: 20 }, () => accept(world, sender)),
    ])

    const run = await world.lanes.fetchNext(sender.connectionId, 50, 0)
    assert.deepEqual(new Set(run.map(({ id }) => id)), new Set([copy, ...accepted]))
    assert.equal(run.length, 21)
    await world.close()
  })
}

/** A message that the network accepted and later reported as failed. */
async function failed(newWorld: NewWorld, given: { media?: boolean } = {}) {
  const world = await newWorld()
  const sender = await addSender(world)
  const messageId = await accept(world, sender, given)
  await publish(world, sender)
  const about = { connectionId: sender.connectionId, messageId, reason: 'whatsapp_131047' } as const
  await world.lanes.applyReceipt(report(world, { ...about, kind: 'failed', code: about.reason }))
  return { world, sender, about }
}

async function publish(world: StorageWorld, sender: Sender): Promise<void> {
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(
    step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
  )
  await world.lanes.release([lane])
}
