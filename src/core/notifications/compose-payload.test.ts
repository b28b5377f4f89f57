import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { composePayload } from './compose-payload.ts'

describe('the reason in a notice', () => {
  it('G10: says of a quarantined message that it was not sent where that is proven', () => {
    const notice = (state: string) => {
      const data = {
        messageId: 'message-1',
        to: '15550100008',
        acceptedAt: 0,
        state,
        reason: 'quarantined',
        words: null,
      }
      const payload = composePayload({ kind: 'message.failed', at: 0, data }, '15550001000')
      return (JSON.parse(payload) as { data: { reason: { meaning: string; nextStep: string } } }).data.reason
    }

    const [failed, unconfirmed] = [notice('FAILED'), notice('UNCONFIRMED')]

    assert.equal(failed.meaning, 'Nuncio stopped three times while sending it; the network showed that it never left.')
    assert.match(failed.nextStep, /nuncio message retry message-1$/)
    assert.match(unconfirmed.meaning, /^Nuncio stopped three times/)
    assert.match(unconfirmed.nextStep, /nuncio message resolve message-1 --arrived or --send-again/)
  })

  it('says of a closed window that a template may be sent by itself', () => {
    const data = {
      messageId: 'message-1',
      to: '15550100008',
      acceptedAt: 0,
      state: 'FAILED',
      reason: 'whatsapp_131047',
    }

    const payload = composePayload({ kind: 'message.failed', at: 0, data }, '15550001000')

    const { reason } = (JSON.parse(payload) as { data: { reason: { nextStep: string } } }).data
    const [itself, otherwise] = reason.nextStep.split(' Otherwise: ')
    assert.equal(itself, 'If a template is set for such messages, Nuncio sends it again by itself.')
    assert.match(otherwise ?? '', /^Wait until 15550100008 writes, or choose a template .* then retry it\./)
  })

  it('shows the code of a newer version as it is', () => {
    const data = { acceptedAt: 0, state: 'FAILED', reason: 'of_a_newer_version' }

    const payload = composePayload({ kind: 'message.failed', at: 0, data }, null)

    const { reason } = (JSON.parse(payload) as { data: { reason: unknown } }).data
    assert.deepEqual(reason, { code: 'of_a_newer_version', meaning: null, nextStep: null, words: null })
  })
})
