import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { explainDealtWith } from './dealt-with.ts'

interface Facts {
  readonly state?: string
  readonly reason?: string
  readonly to?: string
  readonly resent?: object | null
  readonly isRemoved?: boolean
  readonly hasSuccessor?: boolean
  readonly bodyDeletedAt?: number | null
}

function dealtWith({ isRemoved = false, ...facts }: Facts) {
  const { state = 'FAILED', reason = 'whatsapp_131047', to = '15550100000', ...rest } = facts
  const message = { state, reason, to, connection: '15550001000' }
  const others = { resent: null, hasSuccessor: false, bodyDeletedAt: null, ...rest }
  return explainDealtWith({
    message,
    connectionState: isRemoved ? 'removed' : 'active',
    ...others,
  } as never)
}

const COPY = { id: 'copy', state: 'READ', reason: null, words: null, by: 'channel' }

describe('what was done about a message', () => {
  it('is nothing while the next step of its reason holds', () => {
    for (const facts of [{}, { state: 'UNCONFIRMED' }, { state: 'PUBLISHED', isRemoved: true }])
      assert.equal(dealtWith(facts), null)
  })

  it.each([
    ['channel', 'READ', 'Nuncio sent it again as a template. That message was read.'],
    ['channel', 'QUEUED', 'Nuncio sent it again as a template. That message waits to be sent.'],
    ['anna@example.org', 'DELIVERED', 'anna@example.org sent it again. That message was delivered.'],
    ['cli', 'CANCELLED', 'The command line sent it again. That message was cancelled.'],
  ])(
    'G10: comes first where %s sent it again and that one is %s, and nothing is advised that would double it',
    (by, state, done) => {
      for (const was of ['FAILED', 'EXPIRED', 'CANCELLED'])
        assert.deepEqual(dealtWith({ state: was, resent: { ...COPY, by, state } }), {
          done,
          nextStep: 'You need not do anything here.',
        })
    },
  )

  it('says of one that may have arrived that it may come twice', () => {
    const found = dealtWith({ state: 'UNCONFIRMED', reason: 'result_unknown', resent: { ...COPY, by: 'cli' } })

    assert.equal(found?.nextStep, 'You need not do anything here. The recipient may get it twice.')
  })

  it('says why the second one failed too', () => {
    const found = dealtWith({ resent: { ...COPY, state: 'FAILED', reason: 'whatsapp_132001' } })

    assert.deepEqual(found, {
      done: 'Nuncio sent it again as a template. That message failed. Meta has no approved template of this name in this language.',
      nextStep: 'See that message. Choose an approved template in the settings of the connection.',
    })
  })

  it.each([
    [{ to: 'erased' }, 'It cannot be sent again: its recipient was erased.'],
    [{ bodyDeletedAt: 1 }, /^It cannot be sent again: its content was deleted\./],
    [{ isRemoved: true }, 'Its number 15550001000 was removed. Add it again; then the message can be retried.'],
    [{ isRemoved: true, hasSuccessor: true, reason: 'connection_removed' }, 'Retry it if it is still wanted.'],
  ])('names what stands in the way of sending it again: %j', (facts, nextStep) => {
    const found = dealtWith(facts)

    assert.equal(found?.done, null)
    assert.match(found?.nextStep ?? '', nextStep instanceof RegExp ? nextStep : new RegExp(`^${nextStep}$`))
  })
})
