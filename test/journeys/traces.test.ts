import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { ENGINES } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'
import { OtlpReceiver, type ReceivedSpan } from '../support/traces/otlp-receiver.ts'

const CALLER_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CALLER_SPAN = '00f067aa0ba902b7'
const TRACEPARENT = `00-${CALLER_TRACE}-${CALLER_SPAN}-01`
const RECIPIENT = '15550177001'
const BUSY_TWICE = '15550100002'
const SECRET_TEXT = 'the surprise is on Friday'

describe.each(ENGINES)('the trace of a message on $name', ({ start }) => {
  async function open(more: Record<string, string> = {}): Promise<{ nuncio: Journey; receiver: OtlpReceiver }> {
    const receiver = await OtlpReceiver.open()
    onTestFinished(() => receiver.close())
    const nuncio = await start({ settings: { NUNCIO_TRACES_URL: receiver.url, ...more } })
    return { nuncio, receiver }
  }

  it('shows the steps from the request to the commit of the outcome, in order', async () => {
    const { nuncio, receiver } = await open()

    const { messageId } = await nuncio.text(RECIPIENT, SECRET_TEXT, { traceparent: TRACEPARENT })
    const spans = await receiver.has(
      messageId,
      'accept message',
      'commit message',
      'wait in the lane',
      'attempt',
      'commit outcome',
    )

    const [accept, commit, wait, attempt, step] = byName(
      spans,
      'accept message',
      'commit message',
      'wait in the lane',
      'attempt',
      'commit outcome',
    )
    assert.equal(spans.length, 5)
    assert.equal(accept.parentSpanId, '')
    for (const below of [commit, wait, attempt]) assert.equal(below.parentSpanId, accept.spanId)
    assert.equal(step.parentSpanId, attempt.spanId)
    assert.ok(accept.startedAt <= commit.startedAt && commit.endedAt <= accept.endedAt)
    assert.ok(wait.endedAt <= attempt.startedAt)
    assert.ok(attempt.startedAt <= attempt.endedAt)
    assert.equal(attempt.attributes['nuncio.outcome'], 'accepted')
    assert.equal(attempt.attributes['nuncio.channel'], 'sandbox')
    assert.equal(attempt.attributes['messaging.message.id'], messageId)
    assert.equal(attempt.attributes['messaging.operation.type'], 'send')
    assert.deepEqual(
      accept.links.map(({ traceId, spanId }) => [traceId, spanId]),
      [[CALLER_TRACE, CALLER_SPAN]],
    )
    assert.equal(accept.resource['service.name'], 'nuncio')
  })

  it('shows each attempt, and the waits of the lane in between', async () => {
    const { nuncio, receiver } = await open()

    const { messageId } = await nuncio.text(BUSY_TWICE, SECRET_TEXT)
    const spans = await receiver.has(messageId, 'attempt', 'attempt', 'attempt', 'commit outcome', 'commit outcome')

    const attempts = spans.filter(({ name }) => name === 'attempt')
    assert.deepEqual(
      attempts.map(({ attributes, isError }) => [attributes['nuncio.attempt.number'], isError]),
      [
        [1, true],
        [2, true],
        [3, false],
      ],
    )
    assert.equal(new Set(spans.map(({ spanId }) => spanId)).size, spans.length)
    const waits = spans.filter(({ name }) => name === 'wait in the lane')
    assert.equal(waits.length, 3)
    assert.equal(waits[1]?.events[0]?.attributes['nuncio.reason'], 'retrying')
  })

  it('shows the fetch of its media', async () => {
    const host = await serveFiles({ '/secret-path.png': { body: tinyPng(), type: 'image/png' } })
    const { nuncio, receiver } = await open({ NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' })
    const media = { name: 'private-name.png', url: `${host}/secret-path.png`, caption: SECRET_TEXT }

    const { messageId } = await nuncio.post({ from: SENDER, to: RECIPIENT, message: { type: 'image', media } })
    const spans = await receiver.has(messageId, 'fetch media', 'attempt')

    const fetched = spans.find(({ name }) => name === 'fetch media')
    assert.equal(fetched?.attributes['nuncio.media.size_bytes'], tinyPng().length)
    assert.equal(fetched?.isError, false)
    const sent = receiver.bodies.join('\n')
    for (const secret of [host, 'secret-path', 'private-name', SECRET_TEXT]) assert.ok(!sent.includes(secret), secret)
  })

  it('G8: contains no number, text, token or address of a caller', async () => {
    const { nuncio, receiver } = await open()

    const { messageId } = await nuncio.text(RECIPIENT, SECRET_TEXT, {
      'idempotency-key': 'order-7788',
      tracestate: 'shop=7',
    })
    await receiver.has(messageId, 'attempt', 'commit outcome')

    const sent = receiver.bodies.join('\n')
    assert.ok(sent.includes(messageId))
    for (const secret of [RECIPIENT, SENDER, SECRET_TEXT, nuncio.token, 'order-7788', '127.0.0.1', 'shop=7']) {
      assert.ok(!sent.includes(secret), secret)
    }
  })

  it('is sent with the configured headers for the collector', async () => {
    const { nuncio, receiver } = await open({ NUNCIO_TRACES_HEADERS: 'authorization=Bearer abc, x-team = hosts' })

    const { messageId } = await nuncio.text(RECIPIENT, SECRET_TEXT)
    await receiver.has(messageId, 'accept message')

    assert.equal(receiver.headers[0]?.authorization, 'Bearer abc')
  })
})

describe.each(ENGINES)('a collector on $name that', ({ start }) => {
  it.each(['hang', 'refuse'] as const)(
    'would %s costs no message anything, and its spans are counted',
    async (mode) => {
      const receiver = await OtlpReceiver.open()
      onTestFinished(() => receiver.close())
      receiver.mode = mode
      const nuncio = await start({ settings: { NUNCIO_TRACES_URL: receiver.url } })

      const replies = await Promise.all(
        Array.from({ length: 40 }, (_, at) => nuncio.text(`1555017${1000 + at}`, 'hello')),
      )
      for (const { messageId } of replies) await nuncio.reaches(messageId, 'PUBLISHED')
      const began = performance.now()
      await nuncio.stop()
      const stoppedAfterMs = performance.now() - began

      assert.ok(replies.every(({ status }) => status === 200))
      // Less than the 10 s after which an export is given up.
      assert.ok(stoppedAfterMs < 9_500, `stopping took ${stoppedAfterMs} ms`)
      assert.notEqual(receiver.bodies.length, 0)
    },
  )

  it('refuses is visible in the metrics', async () => {
    const receiver = await OtlpReceiver.open()
    onTestFinished(() => receiver.close())
    receiver.mode = 'refuse'
    const nuncio = await start({ settings: { NUNCIO_TRACES_URL: receiver.url } })

    await nuncio.text(RECIPIENT, 'hello')
    const refused = await waitUntil(
      'refused spans are counted',
      async () => (await spanCount(nuncio, 'refused')) || null,
      {
        deadlineMs: 15_000,
      },
    )

    assert.ok(refused >= 2)
    assert.equal(await spanCount(nuncio, 'exported'), 0)
  })
})

async function spanCount({ url }: Journey, result: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^nuncio_trace_spans_total\\{result="${result}"\\} (\\S+)$`, 'm').exec(text)?.[1])
}

function byName<const Names extends readonly string[]>(
  spans: readonly ReceivedSpan[],
  ...names: Names
): { -readonly [At in keyof Names]: ReceivedSpan } {
  return names.map((name) => spans.find((span) => span.name === name)) as never
}
