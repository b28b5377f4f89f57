import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ENGINES } from '../support/journey/engines.ts'
import { SENDER } from '../support/journey/start-nuncio.ts'

const TO = '15551234567'

describe.each(ENGINES)('idempotency on $name', ({ start: startNuncio }) => {
  it('G5: the same key and message give the original answer, before and after a restart', async () => {
    const nuncio = await startNuncio()
    const headers = { 'idempotency-key': 'order-1' }

    const first = await nuncio.text(TO, 'once', headers)
    await nuncio.reaches(first.messageId, 'PUBLISHED')
    const again = await nuncio.text(TO, 'once', headers)
    const restarted = await nuncio.restart()
    const later = await restarted.text(TO, 'once', headers)

    assert.deepEqual(
      [first.body.data.state, again.body.data.state, later.body.data.state],
      ['QUEUED', 'PUBLISHED', 'PUBLISHED'],
    )
    assert.deepEqual([again.messageId, later.messageId], [first.messageId, first.messageId])
    assert.equal((await restarted.inbox()).length, 1)
  })

  it('G5: fifty requests at the same time make one message', async () => {
    const nuncio = await startNuncio()

    const replies = await Promise.all(
      Array.from({ length: 50 }, () => nuncio.text(TO, 'race', { 'idempotency-key': 'race' })),
    )

    assert.deepEqual([...new Set(replies.map(({ status }) => status))], [200])
    assert.equal(new Set(replies.map(({ messageId }) => messageId)).size, 1)
    await nuncio.reaches(replies[0]?.messageId ?? '', 'PUBLISHED')
    assert.equal((await nuncio.inbox()).length, 1)
  })

  it('refuses a key that was used for another message, and answers a known one after its connection was removed', async () => {
    const nuncio = await startNuncio()
    const headers = { 'idempotency-key': 'k' }
    const { administration } = nuncio.operator

    const first = await nuncio.text(TO, 'one', headers)
    const other = await nuncio.text(TO, 'two', headers)
    await nuncio.reaches(first.messageId, 'PUBLISHED')
    await administration.removeConnection((await administration.findConnection(SENDER, null)).id, true, 'test')
    const replay = await nuncio.text(TO, 'one', headers)

    assert.deepEqual([other.status, other.body.data.errors?.[0]?.code], [400, 'idempotency_key_reused'])
    assert.deepEqual([replay.status, replay.messageId], [200, first.messageId])
  })
})

describe.each(ENGINES)('the sandbox commands on $name', ({ start: startNuncio }) => {
  // All at once in one lane. Some of them wait for seconds, and none may delay the others.
  it('G3 G5 G10: each ends as the manual says, and the lane continues', async () => {
    const nuncio = await startNuncio()

    const busy = await nuncio.text('15550100002', 'busy')
    const behind = await nuncio.text('15550100002', 'behind')
    const refused = await nuncio.text('15550100001', 'refused')
    const broken = await nuncio.text('15550100003', 'broken')
    const lost = await nuncio.text('15550100004', 'lost')
    const refusedLater = await nuncio.text('15550100007', 'refused later')
    const other = await nuncio.text(TO, 'other')
    await nuncio.reaches(other.messageId, 'PUBLISHED')
    const waiting = await nuncio.timeline(behind.messageId)
    const deadly = await nuncio.text('15550100008', 'deadly')
    const after = await nuncio.text(TO, 'after')

    assert.deepEqual([waiting.message.state, waiting.message.reason], ['QUEUED', 'behind_others'])
    assert.equal((await nuncio.reaches(busy.messageId, 'PUBLISHED')).message.attempts, 3)
    for (const { messageId } of [behind, after]) await nuncio.reaches(messageId, 'PUBLISHED')
    for (const [{ messageId }, state, reason] of [
      [refused, 'FAILED', 'recipient_refused'],
      [broken, 'UNCONFIRMED', 'result_unknown'],
      [lost, 'UNCONFIRMED', 'result_unknown'],
      [refusedLater, 'FAILED', 'refused_later'],
      [deadly, 'FAILED', 'quarantined'],
    ] as const) {
      assert.equal((await nuncio.reaches(messageId, state)).message.reason, reason)
    }
    const delivered = (await nuncio.inbox()).map(({ text }) => text)
    assert.equal(delivered.length, 5)
    assert.deepEqual(new Set(delivered), new Set(['after', 'behind', 'broken', 'busy', 'other']))
    assert.deepEqual(
      delivered.filter((text) => ['other', 'busy', 'behind'].includes(text ?? '')),
      ['other', 'busy', 'behind'],
    )
  })
})

describe.each(ENGINES)('decisions of people on $name', ({ start: startNuncio }) => {
  it('an UNCONFIRMED message is resolved as arrived, or sent again as a new message', async () => {
    const nuncio = await startNuncio()
    const { administration } = nuncio.operator
    const arrived = await nuncio.text('15550100003', 'arrived')
    const lost = await nuncio.text('15550100004', 'lost')
    await nuncio.reaches(lost.messageId, 'UNCONFIRMED')

    await administration.resolveMessage(arrived.messageId as never, 'arrived', 'test')
    const again = await administration.resolveMessage(lost.messageId as never, 'send-again', 'test')

    assert.deepEqual((await nuncio.timeline(arrived.messageId)).message.state, 'PUBLISHED')
    await nuncio.reaches(again.id, 'UNCONFIRMED')
    assert.equal((await nuncio.timeline(lost.messageId)).resentAs, again.id)
    assert.deepEqual(
      (await administration.listUnresolved(null)).map(({ id }) => id),
      [again.id],
    )
  })

  it('a waiting message is cancelled, and a cancelled one is retried at the end of the lane', async () => {
    const nuncio = await startNuncio()
    const { administration } = nuncio.operator
    const { id } = await administration.findConnection(SENDER, null)
    await administration.setConnectionState(id, 'paused', 'test')
    const first = await nuncio.text(TO, 'first')
    const second = await nuncio.text(TO, 'second')

    await administration.cancelMessage(first.messageId as never, 'test')
    const again = await administration.retryMessage(first.messageId as never, 'test')
    await administration.setConnectionState(id, 'active', 'test')

    await nuncio.reaches(again.id, 'PUBLISHED')
    await nuncio.reaches(second.messageId, 'PUBLISHED')
    assert.deepEqual(
      (await nuncio.inbox()).map((entry) => entry.text),
      ['second', 'first'],
    )
  })

  it('settings of a connection apply at once: receipts come, and a message expires', async () => {
    const nuncio = await startNuncio()
    const { administration } = nuncio.operator
    const connection = await administration.findConnection(SENDER, null)
    const channelSettings = { deliveredAfterMs: 50, readAfterMs: 100 }

    await administration.changeConnection(connection.id, { policy: connection.policy, channelSettings }, 'test')
    const read = await nuncio.text(TO, 'read me')
    await nuncio.reaches(read.messageId, 'READ')
    await administration.setConnectionState(connection.id, 'paused', 'test')
    await administration.changeConnection(
      connection.id,
      { policy: { ...connection.policy, timeToLiveMs: 1 }, channelSettings },
      'test',
    )
    const stale = await nuncio.text(TO, 'too late')

    const { message } = await nuncio.reaches(stale.messageId, 'EXPIRED')
    assert.equal(message.reason, 'time_to_live_over')
  })
})

describe.each(ENGINES)('restarts on $name', ({ start: startNuncio }) => {
  it('G1 G3: messages accepted before a restart are delivered after it, in order', async () => {
    const nuncio = await startNuncio()
    const { administration } = nuncio.operator
    const { id } = await administration.findConnection(SENDER, null)
    await administration.setConnectionState(id, 'paused', 'test')
    for (const text of ['a', 'b', 'c']) await nuncio.text(TO, text)

    const restarted = await nuncio.restart()
    await restarted.operator.administration.setConnectionState(id, 'active', 'test')
    const last = await restarted.text(TO, 'd')

    await restarted.reaches(last.messageId, 'PUBLISHED')
    assert.deepEqual(
      (await restarted.inbox()).map((entry) => entry.text),
      ['a', 'b', 'c', 'd'],
    )
  })
})
