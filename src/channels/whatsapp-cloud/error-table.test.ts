import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { FILES, failureOf, HELLO, openCloudWorld } from '../../../test/support/cloud-world/cloud-world.ts'
import { NUMBER } from '../../../test/support/whatsapp-cloud/simulator-world.ts'
import type { Failure } from '../../core/ports/channel.ts'
import { WHATSAPP_CLOUD_CODES } from '../../core/reasons/whatsapp-cloud.ts'
import { explainReason, isReasonCode } from '../../core/reasons.ts'
import { failureOf as failureOfCode, readAnswer } from './outcome.ts'

const MINUTE_MS = 60_000

// The page “Error codes”, class by class, written down a second time: what becomes of the lane is decided by it.
const EXPECTED: readonly (readonly [
  what: string,
  codes: readonly number[],
  lane: Failure['class'],
  retryAfterMs: number | null,
])[] = [
  ['credentials', [0, 3, 10, 190, 200, 131005], 'connection', 10 * MINUTE_MS],
  ['a number that cannot send', [33, 131037, 131045, 133006, 133010], 'connection', 10 * MINUTE_MS],
  ['a number that was not registered', [133000, 133005, 133008, 133009, 133015, 133016], 'connection', 10 * MINUTE_MS],
  ['a restriction', [368, 131031, 131042, 131048, 131064], 'connection', 60 * MINUTE_MS],
  ['too fast for the number', [4, 80007, 130429], 'connection', null],
  ['too fast for the recipient', [131056], 'recipient', 1_000],
  ['the window', [131047], 'permanent', null],
  ['the recipient', [131026, 131021, 131030, 130403, 131050, 130472, 130497], 'permanent', null],
  ['the recipient’s peace', [131049], 'permanent', null],
  ['the request', [100, 131008, 131009, 131051, 131053, 135000, 134011], 'permanent', null],
  ['the template', [132000, 132001, 132005, 132007, 132012, 132015, 132016, 132018, 132068], 'permanent', null],
  ['a throttled template', [132069], 'transient', 10 * MINUTE_MS],
  ['a template that is prepared', [134101], 'transient', 60 * MINUTE_MS],
  ['Meta’s own failure', [1, 2, 131000, 131016, 131057, 133004], 'transient', null],
]
const ROWS = EXPECTED.flatMap(([what, codes, lane, ms]) => codes.map((code) => [code, what, lane, ms] as const))

describe('the table of codes', () => {
  it('holds what is expected of it, and nothing else', () => {
    const codes = ROWS.map(([code]) => code).sort((a, b) => a - b)

    assert.deepEqual(Object.keys(WHATSAPP_CLOUD_CODES).map(Number), codes)
  })

  it('makes the lane act as the class of the code says, and sends nothing', async () => {
    const { handover, send, simulator } = await openCloudWorld()
    const seen: unknown[] = []
    for (const [index, [code]] of ROWS.entries()) {
      const to = `1555010${1_000 + index}`
      simulator.fail({ to, code, details: 'in detail' })
      const { words, ...failure } = failureOf(await send(handover(HELLO, { to })))
      seen.push([code, failure.class, failure.code, failure.retryAfterMs])
      assert.match(String(words), new RegExp(`^\\(#${code}\\) .+: in detail$`))
    }

    assert.deepEqual(
      seen,
      ROWS.map(([code, , lane, retryAfterMs]) => [code, lane, `whatsapp_${code}`, retryAfterMs]),
    )
    assert.equal(simulator.sent.length, 0)
  })

  it.each(ROWS)('%s (%s) is recognised by its code, whatever the HTTP status is', (code, _, lane) => {
    for (const status of [200, 400, 401, 403, 429, 500, 503]) {
      const { outcome } = readAnswer({ kind: 'answered', status, body: { error: { code, message: 'x' } } }, () => [])

      assert.deepEqual(outcome.kind === 'rejected' && [outcome.failure.class, outcome.failure.code], [
        lane,
        `whatsapp_${code}`,
      ])
    }
  })

  it.each(ROWS)('%s (%s) is explained by a sentence and a next step', (code) => {
    const reason = `whatsapp_${code}`

    assert.ok(isReasonCode(reason))
    const { cause, nextStep } = explainReason(reason)
    assert.match(cause, /^[A-Z].*\.$/)
    assert.match(nextStep, /^[A-Z].*\.$/)
  })

  it('takes all of 200 to 299 as one', () => {
    for (const code of [200, 201, 230, 299])
      assert.deepEqual(
        [failureOfCode({ code, words: '' }).class, failureOfCode({ code, words: '' }).code],
        ['connection', 'whatsapp_200'],
      )
    assert.equal(failureOfCode({ code: 300, words: '' }).code, 'whatsapp_unknown')
  })

  it('suspects the network of nothing that one message may have caused', () => {
    const suspecting = ROWS.map(([code]) => code).filter((code) => failureOfCode({ code, words: '' }).suspectsNetwork)

    assert.deepEqual(suspecting, [2, 131016, 131057, 133004])
  })
})

describe('a number that is gone', () => {
  it('makes the lane wait, and does not fail one message after another', async () => {
    const { handover, send, prepare, spool, simulator } = await openCloudWorld()
    simulator.changeNumber(NUMBER.phoneNumberId, { isGone: true })
    const photo = { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: null } as const

    const failure = failureOf(await send(handover(HELLO)))
    const prepared = await prepare(handover(photo, { media: await spool(FILES.png, 'image/png') }))

    assert.deepEqual([failure.class, failure.code], ['connection', 'whatsapp_33'])
    assert.deepEqual(prepared.kind === 'failed' && prepared.failure.code, 'whatsapp_33')
  })
})

describe('an unknown code', () => {
  it('fails the message with Meta’s words, and is noted', async () => {
    const { handover, send, simulator, noted } = await openCloudWorld()
    simulator.fail({ code: 987654, times: 1, httpStatus: 400, details: 'brand new' })
    const message = handover(HELLO)

    const failure = failureOf(await send(message))

    assert.deepEqual([failure.class, failure.code], ['permanent', 'whatsapp_unknown'])
    assert.match(String(failure.words), /^\(#987654\) .*brand new$/)
    assert.deepEqual(noted, [
      {
        event: 'network.code_unknown',
        channel: 'whatsapp-cloud',
        connectionId: message.connectionId,
        messageId: message.messageId,
        code: 987654,
        status: 400,
      },
    ])
  })

  it('G5: proves nothing beside a status that does not turn the request away', async () => {
    for (const status of [200, 302, 500, 503]) {
      const { outcome } = readAnswer({ kind: 'answered', status, body: { error: { code: 987654 } } }, () => [])

      assert.equal(outcome.kind, 'unknown')
    }
  })
})

describe('an answer that is not as Meta answers', () => {
  it.each([
    ['a page of a proxy', 404, undefined],
    ['an error without a code', 400, { error: { message: 'no' } }],
    ['a code that is a text', 400, { error: { code: '131047' } }],
    ['a code that is no whole number', 400, { error: { code: 1.5 } }],
    ['a success without an id', 200, { messages: [] }],
    ['an id that is no text', 200, { messages: [{ id: 7 }] }],
    ['an empty id', 200, { messages: [{ id: '' }] }],
    ['an id beside a status that is no success', 500, { messages: [{ id: 'wamid.1' }] }],
    ['nothing', 200, null],
  ])('G5: is unknown: %s', (_, status, body) => {
    assert.equal(readAnswer({ kind: 'answered', status, body }, () => []).outcome.kind, 'unknown')
  })

  it('is an error before it is a success', () => {
    const body = { messages: [{ id: 'wamid.1' }], error: { code: 131026 } }

    assert.equal(readAnswer({ kind: 'answered', status: 200, body }, () => []).outcome.kind, 'rejected')
  })

  it('has words of at most 500 characters', () => {
    const body = { error: { code: 100, message: '🙂'.repeat(2_000) } }

    const { outcome } = readAnswer({ kind: 'answered', status: 400, body }, () => [])

    assert.equal(Array.from(String(outcome.kind === 'rejected' && outcome.failure.words)).length, 500)
  })
})
