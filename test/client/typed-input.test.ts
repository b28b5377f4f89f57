import assert from 'node:assert/strict'
import { describe, expectTypeOf, it } from 'vitest'
import { type Message, toRequest } from '../../client/message.ts'
import { type Client, NuncioRefusal, type RefusalCode, type Sent } from '../../client/nuncio-client.ts'
import { readReply } from '../../client/read-reply.ts'
import {
  type RefusalResponse,
  type RefusalResponseError,
  refusalBody,
  type SuccessState,
} from '../../src/contract/replies.ts'
import { REPLIES, type RefusalReplyKind } from '../../src/contract/reply-table.ts'
import { parseSendMessage, type SendMessageRequest } from '../../src/contract/send-message.ts'

const ENDS = { from: '14155550100', to: '14155550123' }
const FILE = { url: 'https://files.example.com/a.pdf', name: 'a.pdf' }
const CAPTIONED = { ...FILE, caption: 'A caption' }

const GOOD: readonly Message[] = [
  { ...ENDS, text: 'Hello' },
  { ...ENDS, image: CAPTIONED },
  { ...ENDS, document: FILE },
  { ...ENDS, video: { ...FILE, caption: undefined } },
  { ...ENDS, audio: FILE },
]

describe('the input of the client', () => {
  it.each(GOOD)('%o becomes what the contract accepts', (message) => {
    const request: SendMessageRequest = toRequest(message)

    const parsed = parseSendMessage(JSON.parse(JSON.stringify(request)))

    assert.ok(parsed.ok)
    assert.equal(parsed.request.from, ENDS.from)
    assert.equal(parsed.request.to, ENDS.to)
  })

  it('does not compile with anything else, and is refused in plain JavaScript', () => {
    // @ts-expect-error: it has no content.
    assert.throws(() => toRequest({ ...ENDS }), TypeError)
    // @ts-expect-error: two at once, one of which would be lost.
    assert.throws(() => toRequest({ ...ENDS, text: 'Hello', image: FILE }), TypeError)
    // @ts-expect-error: two at once.
    assert.throws(() => toRequest({ ...ENDS, video: FILE, audio: FILE }), TypeError)
    // @ts-expect-error: there is no such type.
    assert.throws(() => toRequest({ ...ENDS, sticker: FILE }), TypeError)
  })

  it('does not compile with wrong parts', () => {
    const wrong: Message[] = [
      // @ts-expect-error: without a recipient.
      { from: ENDS.from, text: 'Hello' },
      // @ts-expect-error: a number is text.
      { ...ENDS, to: 14155550123, text: 'Hello' },
      // @ts-expect-error: without its name.
      { ...ENDS, image: { url: FILE.url } },
      // @ts-expect-error: a caption goes into the media.
      { ...ENDS, document: FILE, caption: 'A caption' },
      // @ts-expect-error: audio has no caption.
      { ...ENDS, audio: CAPTIONED },
    ]

    assert.equal(wrong.length, 5)
  })
})

describe('the results of the client', () => {
  it('has the types of the contract', () => {
    expectTypeOf<ReturnType<Client['send']>>().toEqualTypeOf<Promise<Sent>>()
    expectTypeOf<Sent['state']>().toEqualTypeOf<SuccessState>()
    expectTypeOf<RefusalCode>().toEqualTypeOf<RefusalResponse['code']>()
    expectTypeOf<NuncioRefusal['fields'][number]>().toEqualTypeOf<Readonly<RefusalResponseError>>()
    expectTypeOf<ReturnType<typeof toRequest>>().toExtend<SendMessageRequest>()
  })

  const kinds = Object.keys(REPLIES).filter((kind) => kind !== 'success') as RefusalReplyKind[]
  it.each(kinds)('reads a refusal of kind %s', async (kind) => {
    const { status, code, name } = REPLIES[kind]
    const errors = [{ field: 'to', code: 'number_malformed', message: 'Write it as digits.' }]
    const response = Response.json(refusalBody(kind, errors), { status, headers: { 'x-request-id': 'k3-1' } })

    const answer = await readReply(response, 'key-1')

    assert.ok('error' in answer && answer.error instanceof NuncioRefusal)
    const { error } = answer
    assert.deepEqual(
      [error.status, error.code, error.name, error.fields, error.requestId, error.idempotencyKey],
      [status, code, name, errors, 'k3-1', 'key-1'],
    )
    assert.equal(error.message, 'to: Write it as digits.')
    assert.equal(error.isRetryable, ['too_many_requests', 'internal_error', 'unavailable'].includes(kind))
    assert.equal(answer.isOpen, kind === 'internal_error')
  })
})
