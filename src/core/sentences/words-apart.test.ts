import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { viewOf } from '../../../test/support/read-message.ts'
import { explainMessage } from './explain-message.ts'

describe('words that stand apart', () => {
  const speakerOf = (reason: string, words: string, channel: string) =>
    explainMessage(viewOf({ message: { state: 'UNCONFIRMED', reason }, words, channel })).quote?.speaker

  it.each([
    ['result_unknown', 'Meta did not answer in time, or the call was stopped', 'whatsapp-cloud', 'Nuncio noted'],
    ['result_unknown', '(#1) An unknown error has occurred.', 'whatsapp-cloud', 'Meta said'],
    ['whatsapp_131026', '(131026) Message undeliverable', 'whatsapp-cloud', 'Meta said'],
    ['connection_away', 'Meta refused the connection', 'whatsapp-cloud', 'Nuncio noted'],
    ['client_refused', 'WhatsApp rejected the login with code 411', 'whatsapp-web', 'Nuncio noted'],
    ['busy', 'the sandbox is busy', 'sandbox', 'The sandbox said'],
    ['bridge_other', 'no route', 'bridge', 'The adapter said'],
    ['result_unknown', 'The adapter does not know what became of it: 500', 'bridge', 'Nuncio noted'],
  ])('name their speaker: %s, “%s”', (...[reason, words, channel, speaker]) => {
    assert.equal(speakerOf(reason, words, channel), speaker)
  })
})
