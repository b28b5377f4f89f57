import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseEvidence, parseHealth, parseJson, parseMediaAnswer, parseOutcome, parseReceipts } from './protocol.ts'
import { keyOf, sign, verifySigned } from './signing.ts'

const ID = '0199f3c4-7a1e-7c3a-9d5e-2f1b7c8d9e0a_2'
const ACCEPTED = { type: 'outcome', attemptId: ID, result: 'accepted', networkId: 'n1' }
const REJECTED = { type: 'outcome', attemptId: ID, result: 'rejected', class: 'permanent', code: 'busy', words: null }
const RECEIPT = { attemptId: ID, connectionId: 'con_1', kind: 'sent', at: 5, networkId: null }

describe('the outcome of an adapter', () => {
  it('is read with members that are not known, and with those that may be left out', () => {
    assert.deepEqual(parseOutcome({ ...ACCEPTED, more: 1 }, ID), { result: 'accepted', networkId: 'n1' })
    assert.deepEqual(parseOutcome(REJECTED, ID), {
      result: 'rejected',
      class: 'permanent',
      code: 'busy',
      words: null,
      retryAfterMs: null,
      suspectsGateway: false,
    })
    assert.deepEqual(parseOutcome({ ...ACCEPTED, result: 'unknown' }, ID), { result: 'unknown', words: null })
  })

  it.each([
    ['another attempt', { ...ACCEPTED, attemptId: ID.replace('_2', '_1') }],
    ['another type', { ...ACCEPTED, type: 'evidence' }],
    ['an unknown result', { ...ACCEPTED, result: 'sent' }],
    ['no network id', { ...ACCEPTED, networkId: null }],
    ['a network id with a blank', { ...ACCEPTED, networkId: 'a b' }],
    ['a network id that is too long', { ...ACCEPTED, networkId: 'n'.repeat(257) }],
    ['an unknown class', { ...REJECTED, class: 'fatal' }],
    ['a code that is none', { ...REJECTED, code: 'No!' }],
    ['a wait that is too long', { ...REJECTED, retryAfterMs: 3_600_001 }],
    ['a wait that is no number', { ...REJECTED, retryAfterMs: '5' }],
    ['words that are no text', { ...REJECTED, words: {} }],
    ['a list', [ACCEPTED]],
    ['nothing', null],
  ])('is none with %s', (_, given) => {
    assert.equal(parseOutcome(given, ID), null)
  })

  it('has words without control characters, and at most 500 of them', () => {
    const outcome = parseOutcome({ ...REJECTED, words: `a\u0000\u202eb\n${'😀'.repeat(600)}` }, ID)

    assert.ok(outcome?.result === 'rejected')
    const letters = Array.from(outcome.words ?? '')
    assert.equal(letters.length, 500)
    assert.match(outcome.words ?? '', /^a {2}b 😀+…$/u)
  })
})

describe('other answers of an adapter', () => {
  it('are evidence only with the age of the log, and accepted only with an id', () => {
    const evidence = { type: 'evidence', attemptId: ID, state: 'pending', logSince: 5 }

    assert.equal(parseEvidence(evidence, ID)?.state, 'pending')
    for (const wrong of [
      { logSince: undefined },
      { state: 'accepted' },
      { state: 'lost' },
      { attemptId: 'x' },
      { type: 'outcome' },
    ])
      assert.equal(parseEvidence({ ...evidence, ...wrong }, ID), null)
  })

  it('say of a file that it is there, or is not, and nothing else', () => {
    assert.deepEqual(parseMediaAnswer({ type: 'media', sha256: 'a', ready: true }, 'a'), { isReady: true })
    assert.deepEqual(parseMediaAnswer({ type: 'media', sha256: 'a', ready: false }, 'a'), {
      isReady: false,
      rejection: null,
    })
    assert.equal(parseMediaAnswer({ type: 'media', sha256: 'b', ready: true }, 'a'), null)
    assert.equal(parseMediaAnswer({ type: 'media', sha256: 'a', ready: 'yes' }, 'a'), null)
  })

  it('are no health without capabilities, nor with senders that are no numbers', () => {
    assert.equal(parseHealth({ type: 'health', versions: [1] }), null)
    assert.equal(parseJson(Buffer.from('{')), undefined)
    assert.equal(parseJson(Buffer.from([0x22, 0xff, 0x22])), undefined)
  })
})

describe('a batch of receipts', () => {
  it('is read one by one: what cannot be read keeps no other from being read', () => {
    const read = parseReceipts({
      type: 'receipts',
      receipts: [
        RECEIPT,
        { ...RECEIPT, kind: 'typed' },
        { ...RECEIPT, attemptId: 'x_1' },
        null,
        { ...RECEIPT, networkId: 5 },
      ],
    })

    assert.deepEqual(
      read?.receipts.map(({ messageId, attemptNumber }) => `${messageId}_${attemptNumber}`),
      [ID],
    )
    assert.deepEqual(
      read?.ignored.map(({ index, reason }) => [index, reason]),
      [
        [1, 'kind_unknown'],
        [2, 'not_ours'],
        [3, 'malformed'],
        [4, 'malformed'],
      ],
    )
  })

  it('is none of another type, nor with more than 100', () => {
    assert.equal(parseReceipts({ type: 'attempt', receipts: [] }), null)
    assert.equal(parseReceipts({ type: 'receipts', receipts: Array.from({ length: 101 }, () => RECEIPT) }), null)
  })
})

describe('a signature', () => {
  const key = keyOf(`whsec_${Buffer.alloc(24, 7).toString('base64')}`)!
  const other = keyOf(`whsec_${Buffer.alloc(64, 8).toString('base64')}`)!
  const now = 1_795_747_200_000
  const content = Buffer.from('{"a":1}')
  const signedBy = (keys: readonly Uint8Array[], change: Readonly<Record<string, string>> = {}, at = now) => {
    const headers: Readonly<Record<string, string>> = {
      ...sign(keys, { id: 'att_1', timestamp: at / 1_000, content }),
      ...change,
    }
    return { header: (name: string) => headers[name] ?? null, content, now }
  }

  it('counts under either of two secrets, and names the id that it covers', () => {
    assert.equal(verifySigned([key], signedBy([key])), 'att_1')
    assert.equal(verifySigned([other, key], signedBy([key])), 'att_1')
    assert.equal(verifySigned([key], signedBy([other, key])), 'att_1')
  })

  it('counts for nothing with another secret, body, id or version, or with a clock that differs by more than 300 seconds', () => {
    assert.equal(verifySigned([other], signedBy([key])), null)
    assert.equal(verifySigned([], signedBy([key])), null)
    assert.equal(verifySigned([key], { ...signedBy([key]), content: Buffer.from('{"a":2}') }), null)
    assert.equal(verifySigned([key], signedBy([key], { 'webhook-id': 'att_2' })), null)
    assert.equal(verifySigned([key], signedBy([key], { 'nuncio-bridge': '2' })), null)
    assert.equal(verifySigned([key], signedBy([key], { 'webhook-signature': 'v1,' })), null)
    assert.equal(verifySigned([key], signedBy([key], {}, now - 301_000)), null)
    assert.equal(verifySigned([key], signedBy([key], {}, now + 301_000)), null)
    assert.equal(verifySigned([key], signedBy([key], {}, now + 299_000)), 'att_1')
  })

  it.each([
    '',
    'whsec_',
    'secret',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
    `whsec_${Buffer.alloc(65).toString('base64')}`,
    'whsec_%%%%',
  ])('has no key of %s', (secret) => {
    assert.equal(keyOf(secret), null)
  })
})
