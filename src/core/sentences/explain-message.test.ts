import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../connection/lane-policy.ts'
import { explainMessage } from './explain-message.ts'

interface Facts {
  readonly state?: string
  readonly reason?: string
  readonly to?: string
  readonly resent?: object | null
  readonly isRemoved?: boolean
  readonly hasSuccessor?: boolean
  readonly bodyDeletedAt?: number | null
  readonly block?: object
  readonly timeline?: readonly object[]
}

function explain({ isRemoved = false, ...facts }: Facts) {
  const { state = 'FAILED', reason = 'recipient_refused', to = '15550100000', ...rest } = facts
  const message = { state, reason, to, connection: '15550001000', attempts: 0, acceptedAt: 0, publishedAt: null }
  const others = { resent: null, hasSuccessor: false, bodyDeletedAt: null, ...rest }
  const { list, cause, nextStep } = explainMessage({
    message,
    asOf: 0,
    channel: 'sandbox',
    policy: DEFAULT_LANE_POLICY,
    tries: null,
    paused: null,
    removed: null,
    block: null,
    reasonWords: null,
    laneWait: null,
    position: null,
    reportsMissing: null,
    timeline: [],
    connectionState: isRemoved ? 'removed' : 'active',
    ...others,
  } as never)
  return { list, cause, nextStep }
}

const COPY = { id: 'copy', state: 'READ', reason: null, words: null, by: 'channel' }
const ASK = 'Ask 15550100000. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.'
const REFUSED = 'The sandbox rejects 15550100000 for good.'
const REFUSED_STEP = 'Check the number, and send a new message to the right one.'
const BLOCK = { by: 'cli', at: 0, why: null }

describe('what was done about a message', () => {
  it.each([
    ['channel', 'READ', 'Nuncio sent it again as a template. That message was read.'],
    ['channel', 'QUEUED', 'Nuncio sent it again as a template. That message waits to be sent.'],
    ['anna@example.org', 'DELIVERED', 'anna@example.org sent it again. That message was delivered.'],
    ['cli', 'CANCELLED', 'The command line sent it again. That message was cancelled.'],
  ])(
    'G10: is said where %s sent it again and that one is %s, and nothing is advised that would double it',
    (by, state, done) => {
      for (const was of ['FAILED', 'EXPIRED', 'CANCELLED']) {
        const { cause, nextStep } = explain({ state: was, resent: { ...COPY, by, state } })
        assert.deepEqual([cause, nextStep], [`${REFUSED} ${done}`, 'You need not do anything here.'])
      }
    },
  )

  it('says of one that may have arrived that it may come twice', () => {
    const { nextStep } = explain({ state: 'UNCONFIRMED', reason: 'result_unknown', resent: { ...COPY, by: 'cli' } })

    assert.equal(nextStep, 'You need not do anything here. The recipient may get it twice.')
  })

  it('says why the second one failed too', () => {
    const { cause, nextStep } = explain({ resent: { ...COPY, state: 'FAILED', reason: 'whatsapp_132001' } })

    assert.equal(
      cause,
      `${REFUSED} Nuncio sent it again as a template. That message failed. Meta has no approved template of this name in this language.`,
    )
    assert.equal(
      nextStep,
      'See that message. Choose an approved template in the settings of the connection; then retry it.',
    )
  })

  it('names the network and the recipient of the second one, while the number is the same', () => {
    const resent = { ...COPY, by: 'cli', state: 'FAILED', reason: 'recipient_refused' }
    const causeOf = (isRemoved: boolean) => explain({ resent, isRemoved }).cause

    assert.equal(causeOf(false), `${REFUSED} The command line sent it again. That message failed. ${REFUSED}`)
    assert.match(causeOf(true) ?? '', /That message failed\. The network rejects 15550100000 for good\.$/)
  })

  it.each([
    [{ to: 'erased' }, 'It cannot be sent again: its recipient was erased.'],
    [
      { bodyDeletedAt: 1 },
      'It cannot be sent again: its content was deleted. Send a new message if it is still wanted.',
    ],
    [{ isRemoved: true, reason: 'busy' }, 'Add 15550001000 again; “Retry” then appears here.'],
    [{ isRemoved: true }, REFUSED_STEP],
    [
      { isRemoved: true, timeline: [{ kind: 'receipt-contrary', words: 'read', at: 0, code: null, facts: {} }] },
      'Add 15550001000 again; “Retry” then appears here.',
    ],
    [{ block: BLOCK, reason: 'busy' }, 'The recipient is on the block list now. Unblock it before you retry.'],
    [{ block: BLOCK }, REFUSED_STEP],
    [{ isRemoved: true, hasSuccessor: true, reason: 'connection_removed' }, 'Retry it if it is still wanted.'],
    [
      { to: 'erased', state: 'UNCONFIRMED', reason: 'result_unknown' },
      'It cannot be sent again. If you know that it arrived, choose “It arrived”.',
    ],
    [
      { bodyDeletedAt: 1, state: 'UNCONFIRMED', reason: 'stopped_while_sending' },
      'It cannot be sent again. If you know that it arrived, choose “It arrived”.',
    ],
    [
      { isRemoved: true, state: 'UNCONFIRMED', reason: 'result_unknown' },
      'It cannot be sent again: 15550001000 was removed. If you know that it arrived, choose “It arrived”. Else send a new message from another number, or add 15550001000 again.',
    ],
    [{ isRemoved: true, hasSuccessor: true, state: 'UNCONFIRMED', reason: 'result_unknown' }, ASK],
    [
      { block: BLOCK, state: 'UNCONFIRMED', reason: 'result_unknown' },
      '15550100000 is on the block list now. If you know that it arrived, choose “It arrived”. Else unblock it before you send it again.',
    ],
  ])('names what stands in the way of sending it again: %j', (facts, nextStep) => {
    assert.equal(explain(facts).nextStep, nextStep)
  })

  it('calls one that the block list stopped the same as the log does, also after an unblock', () => {
    const [blocked, unblocked] = [
      explain({ reason: 'recipient_blocked', block: BLOCK }),
      explain({ reason: 'recipient_blocked' }),
    ]

    assert.deepEqual([blocked.list, unblocked.list], ['Stopped by the block list', 'Stopped by the block list'])
    assert.match(unblocked.cause ?? '', /was on the block list then\.$/)
  })
})
