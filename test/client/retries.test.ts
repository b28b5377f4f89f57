import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { createClient, NuncioRefusal, NuncioUnreachable } from '../../client/nuncio-client.ts'
import { refusalBody, successBody } from '../../src/contract/replies.ts'
import { REPLIES, type RefusalReplyKind } from '../../src/contract/reply-table.ts'

const MESSAGE = { from: '14155550100', to: '14155550123', text: 'Hello' }

/** Answers, given in order; the last one is repeated. An error stands for a broken connection. */
type Reply = Response | Error

interface Call {
  readonly atMs: number
  readonly url: string
  readonly key: string | null
  readonly body: unknown
}

function scripted(replies: readonly (() => Reply)[], retries?: number) {
  const calls: Call[] = []
  const fetch = async (url: string, init: RequestInit) => {
    const reply = (replies[calls.length] ?? replies.at(-1))?.()
    calls.push({ atMs: Date.now(), url, key: new Headers(init.headers).get('idempotency-key'), body: init.body })
    if (reply instanceof Error) throw reply
    return reply ?? accepted()
  }
  return { calls, client: createClient({ url: 'https://nuncio.example.com/', token: 'nco_1', fetch, retries }) }
}

const accepted = () => Response.json(successBody('QUEUED'), { headers: { 'x-message-id': 'm1', 'x-request-id': 'r1' } })
const broken = () => new TypeError('fetch failed')
const page = (status: number) => () => new Response('<h1>Hello</h1>', { status })
function refused(kind: RefusalReplyKind, code: string, retryAfter?: string) {
  const headers = { 'x-request-id': 'r2', ...(retryAfter && { 'retry-after': retryAfter }) }
  const errors = [{ field: null, code, message: 'No.' }]
  return () => Response.json(refusalBody(kind, errors), { status: REPLIES[kind].status, headers })
}

/** The result of a call. Moves time as far as the call needs. */
async function outcome(call: Promise<unknown>): Promise<unknown> {
  const settled = call.catch((error: unknown) => error)
  await vi.runAllTimersAsync()
  return settled
}

function gapsOf(calls: readonly Call[]): number[] {
  return calls.slice(1).map(({ atMs }, index) => atMs - (calls[index]?.atMs ?? 0))
}

describe('the client tries again', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it.each([
    ['a broken connection', broken],
    ['a 429', refused('too_many_requests', 'rate_exceeded', '1')],
    ['a 503', refused('unavailable', 'not_accepted', '5')],
    ['a 503 that leaves it open', refused('unavailable', 'commit_unknown', '5')],
    ['a 500', refused('internal_error', 'internal_error')],
    ['a 502 of a proxy', page(502)],
    ['a 503 of a proxy', page(503)],
    ['an answer that breaks off', () => new Response(new ReadableStream({ start: (body) => body.error(broken()) }))],
  ])('after %s, with the same key and body', async (_, first) => {
    const { calls, client } = scripted([first, accepted])

    const sent = await outcome(client.send(MESSAGE))

    assert.deepEqual(sent, { messageId: 'm1', requestId: 'r1', state: 'QUEUED' })
    assert.equal(calls.length, 2)
    assert.match(calls[0]?.key ?? '', /^[0-9a-f-]{36}$/)
    assert.deepEqual([calls[0]?.key, calls[0]?.body], [calls[1]?.key, calls[1]?.body])
    assert.equal(calls[0]?.url, 'https://nuncio.example.com/chat/api/v1/public/message/send')
  })

  it('never after another 4xx, a redirect, or a page of another server', async () => {
    const finals = [
      refused('bad_request', 'number_malformed'),
      refused('unauthorized', 'unauthorized'),
      refused('access_denied', 'event_missing'),
      refused('connection_not_found', 'connection_not_found'),
      page(408),
      page(413),
      page(302),
    ]
    for (const final of finals) {
      const { calls, client } = scripted([final, accepted])

      assert.ok((await outcome(client.send(MESSAGE))) instanceof NuncioRefusal)
      assert.equal(calls.length, 1)
    }
    const { calls, client } = scripted([page(200), accepted])
    assert.ok((await outcome(client.send(MESSAGE))) instanceof NuncioUnreachable)
    assert.equal(calls.length, 1)
  })

  it('as often as configured, each time later', async () => {
    const { calls, client } = scripted([broken])

    const error = await outcome(client.send(MESSAGE, { idempotencyKey: 'order-4711' }))

    assert.ok(error instanceof NuncioUnreachable)
    assert.equal(error.idempotencyKey, 'order-4711')
    assert.equal((error.cause as Error).message, 'fetch failed')
    const gaps = gapsOf(calls)
    assert.equal(gaps.length, 4)
    for (const [index, gapMs] of gaps.entries()) {
      assert.ok(gapMs >= 250 * 2 ** index && gapMs <= 500 * 2 ** index, `${gapMs} ms before try ${index + 2}`)
    }
  })

  it('not at all with no retries', async () => {
    const { calls, client } = scripted([refused('too_many_requests', 'rate_exceeded', '1')], 0)

    const error = await outcome(client.send(MESSAGE))

    assert.ok(error instanceof NuncioRefusal)
    assert.deepEqual([error.isRetryable, error.retryAfterSeconds, calls.length], [true, 1, 1])
  })

  it('never before Retry-After, in seconds or as a date, and not at all when that is too long', async () => {
    const inHalfAMinute = () => new Date(Date.now() + 30_000).toUTCString()
    for (const [retryAfter, leastMs] of [
      [() => '7', 7000],
      [inHalfAMinute, 28_000],
    ] as const) {
      const { calls, client } = scripted([refused('too_many_requests', 'rate_exceeded', retryAfter()), accepted])

      await outcome(client.send(MESSAGE))

      const [gapMs = 0] = gapsOf(calls)
      assert.ok(gapMs >= leastMs && gapMs < leastMs + 3000, `${gapMs} ms`)
    }
    const { calls, client } = scripted([refused('too_many_requests', 'rate_exceeded', '3600'), accepted])
    const error = await outcome(client.send(MESSAGE))
    assert.ok(error instanceof NuncioRefusal && error.retryAfterSeconds === 3600)
    assert.equal(calls.length, 1)
  })

  it('and reports an unknown result if an earlier try was inconclusive', async () => {
    const token = await outcome(scripted([broken, refused('unauthorized', 'unauthorized')]).client.send(MESSAGE))
    const full = await outcome(scripted([broken, refused('unavailable', 'not_accepted')]).client.send(MESSAGE))
    const proxy = await outcome(scripted([broken, page(400)]).client.send(MESSAGE))
    const wrong = await outcome(scripted([broken, refused('bad_request', 'text_too_long')]).client.send(MESSAGE))

    assert.ok(token instanceof NuncioUnreachable && token.cause instanceof NuncioRefusal)
    assert.deepEqual([token.cause.status, token.requestId], [401, 'r2'])
    assert.ok(full instanceof NuncioUnreachable)
    assert.ok(proxy instanceof NuncioUnreachable)
    assert.ok(wrong instanceof NuncioRefusal)
  })

  it('until the caller ends it', async () => {
    const { calls, client } = scripted([broken])
    const caller = new AbortController()
    setTimeout(() => caller.abort(new Error('enough')), 100)

    const error = await outcome(client.send(MESSAGE, { signal: caller.signal }))
    const another = await outcome(client.send(MESSAGE, { signal: caller.signal }))

    assert.equal((error as Error).message, 'enough')
    assert.equal((another as Error).message, 'enough')
    assert.equal(calls.length, 1)
  })
})

describe('the client refuses at once', () => {
  it.each([
    ['a URL that is none', { url: 'nuncio', token: 'nco_1' }],
    ['a URL of another kind', { url: 'ftp://nuncio.example.com', token: 'nco_1' }],
    ['a URL with a password', { url: 'https://me:secret@nuncio.example.com', token: 'nco_1' }],
    ['a URL with a query', { url: 'https://nuncio.example.com/nuncio?a=b', token: 'nco_1' }],
    ['a URL with a fragment', { url: 'https://nuncio.example.com/nuncio#', token: 'nco_1' }],
    ['a token that is missing', { url: 'https://nuncio.example.com', token: '' }],
    ['a token that is two lines', { url: 'https://nuncio.example.com', token: 'nco_1\n' }],
  ])('%s', (_, options) => {
    assert.throws(() => createClient(options), TypeError)
  })

  it('a key that no header can carry', async () => {
    const { calls, client } = scripted([accepted])

    for (const idempotencyKey of ['', 'größe', 'two\nlines', 'x'.repeat(256)]) {
      await assert.rejects(client.send(MESSAGE, { idempotencyKey }), TypeError)
    }
    assert.equal(calls.length, 0)
  })
})
