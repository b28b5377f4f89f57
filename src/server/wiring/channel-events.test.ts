import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { Receipt, ReceiptEnd } from '../../core/ports/channel.ts'
import type { Lanes } from '../../core/ports/lanes.ts'
import { createChannelEvents } from './channel-events.ts'

const RECEIPT: Receipt = {
  connectionId: 'connection' as ConnectionId,
  messageId: 'message' as MessageId,
  attemptNumber: 1,
  kind: 'delivered',
  at: 1,
  networkId: null,
  code: null,
  words: null,
}

/** Storage that answers with these in turn, the last one for ever. */
function channelEvents(answers: readonly ReceiptEnd[]) {
  const clock = new HandClock()
  let tries = 0
  const lanes = {
    applyReceipt: () => Promise.resolve(answers[Math.min(tries++, answers.length - 1)]),
  } as unknown as Lanes
  const events = createChannelEvents({ lanes, clock, sendAgain: async ({ messageId }) => messageId })
  return { events, clock, tries: () => tries }
}

describe('the events of channels', () => {
  it('brings a report again until the attempt that it speaks of is over', async () => {
    const { events, clock, tries } = channelEvents(['too-early', 'too-early', 'applied'])

    const reported = events.receipt(RECEIPT)
    await clock.pass(1_000)
    await reported

    assert.equal(tries(), 3)
  })

  it('gives a report up whose attempt never ends', async () => {
    const { events, clock } = channelEvents(['too-early'])

    const reported = assert.rejects(events.receipt(RECEIPT), /does not end/)
    await clock.pass(121_000)
    await reported
  })

  it('tries once where it is only offered, and says what came of it', async () => {
    const { events, tries } = channelEvents(['too-early', 'message-unknown'])

    const ends = [await events.offerReceipt(RECEIPT), await events.offerReceipt(RECEIPT)]

    assert.deepEqual(ends, ['too-early', 'message-unknown'])
    assert.equal(tries(), 2)
  })

  it('has a failed message sent again', async () => {
    const { events } = channelEvents(['applied'])
    const { connectionId, messageId } = RECEIPT

    assert.equal(await events.sendAgain({ connectionId, messageId: messageId!, reason: 'whatsapp_131047' }), messageId)
  })
})
