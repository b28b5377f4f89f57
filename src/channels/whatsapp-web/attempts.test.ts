import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import type { AccountId, ConnectionId, MessageId } from '../../core/ids.ts'
import { Attempts } from './attempts.ts'
import { wireIdOf } from './wire-id.ts'

const STARTED_AT = Date.UTC(2026, 10, 27)
const OPEN = {
  messageId: 'message-1' as MessageId,
  accountId: 'acc_1' as AccountId,
  connectionId: 'con_1' as ConnectionId,
  to: '15551234567',
  attemptNumber: 1,
  startedAt: STARTED_AT,
}
const WANTED = () => true

describe('an attempt of WhatsApp Web', () => {
  it('G5: that had not begun is not sent, and does not begin any more', async () => {
    const attempts = await openAttempts()

    const evidence = [await attempts.reconcile(OPEN, STARTED_AT), await attempts.reconcile(OPEN, STARTED_AT)]
    const hasBegun = await attempts.begin(OPEN, STARTED_AT, WANTED)

    assert.deepEqual([...new Set(evidence.map(({ kind }) => kind))], ['not-sent'])
    assert.equal(hasBegun, false)
  })

  it('G5: that had begun is unknown until the wait for evidence is over, and then for ever', async () => {
    const attempts = await openAttempts()
    const hasBegun = await attempts.begin(OPEN, STARTED_AT, WANTED)

    const [early, late] = [
      await attempts.reconcile(OPEN, STARTED_AT + 90_000),
      await attempts.reconcile(OPEN, STARTED_AT + 90_001),
    ]

    assert.deepEqual([hasBegun, early.kind, late.kind], [true, 'nothing-yet', 'nothing-ever'])
  })

  it('is accepted once a receipt came since it began, and the next attempt is another one', async () => {
    const attempts = await openAttempts()
    await attempts.begin(OPEN, STARTED_AT, WANTED)
    await attempts.keepTaken(OPEN.connectionId, OPEN.messageId, STARTED_AT + 1)
    const second = { ...OPEN, attemptNumber: 2 }
    const third = { ...OPEN, attemptNumber: 3, startedAt: STARTED_AT + 2 }
    await attempts.begin(third, third.startedAt, WANTED)

    const evidence = [OPEN, second, third].map((open) => attempts.reconcile(open, open.startedAt))

    assert.deepEqual(await Promise.all(evidence), [
      { kind: 'accepted', networkId: wireIdOf(OPEN) },
      { kind: 'not-sent', words: 'it had not been handed over yet' },
      { kind: 'nothing-yet' },
    ])
  })

  it('G6: is not begun once it is not wanted any more', async () => {
    const attempts = await openAttempts()

    const hasBegun = await attempts.begin(OPEN, STARTED_AT, () => false)

    assert.equal(hasBegun, false)
  })

  it('finds its message by the id that WhatsApp knows, of this connection alone', async () => {
    const attempts = await openAttempts()
    await attempts.begin(OPEN, STARTED_AT, WANTED)
    const ids = [wireIdOf(OPEN), '3EB0000000000000000000']

    const found = [
      await attempts.findMessages(OPEN.connectionId, ids),
      await attempts.findMessages('con_2' as ConnectionId, ids),
    ]

    assert.deepEqual(found, [[OPEN.messageId], []])
    assert.match(wireIdOf(OPEN), /^3EB0[0-9A-F]{18}$/)
  })
})

async function openAttempts(): Promise<Attempts> {
  const world = await newSqliteWorld()
  onTestFinished(() => world.close())
  return new Attempts(world.channelState('whatsapp-web'))
}
