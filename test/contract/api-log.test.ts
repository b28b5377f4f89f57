import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { RequestView } from '../../src/core/ports/administration.ts'
import { ENGINES } from '../support/journey/engines.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'

const TO = '15551234567'

async function log({ operator }: Journey): Promise<RequestView[]> {
  const filter = { accountId: null, tokenIds: null, connection: null, statuses: null, limit: null }
  const requests: RequestView[] = []
  for await (const request of operator.administration.listRequests(filter)) requests.push(request)
  // Another test with a hand-moved clock covers the order. The ids of one process are a counter.
  return requests.toSorted((a, b) => b.requestId.localeCompare(a.requestId))
}

describe.each(ENGINES)('the API log on $name', ({ start: startNuncio }) => {
  it('G10: contains every request with a known token and its answer, under the id of its reply', async () => {
    const nuncio = await startNuncio()
    const body = { from: SENDER, to: '+1', message: { type: 'message', message: 'Hello' } }

    const accepted = await nuncio.text(TO, 'Hello', { 'idempotency-key': 'k' })
    const refused = await nuncio.post(body)
    const elsewhere = await nuncio.post({ ...body, from: '15559999999', to: TO })
    const repeated = await nuncio.text(TO, 'Hello', { 'idempotency-key': 'k' })
    await nuncio.text(TO, 'Unknown', { 'x-api-key': 'unknown' })
    await nuncio.reaches(accepted.messageId, 'PUBLISHED')

    const replies = [repeated, elsewhere, refused, accepted]
    const requests = await log(nuncio)
    assert.deepEqual(
      requests.map((request) => [request.requestId, request.status, request.code, request.errors]),
      replies.map((reply) => [
        reply.headers.get('x-request-id'),
        reply.status,
        reply.body.code,
        reply.body.data.errors ?? [],
      ]),
    )
    assert.deepEqual(
      requests.map((request) => [request.outcome, request.state, request.connection]),
      [
        ['repeated', 'PUBLISHED', SENDER],
        ['refused', null, '15559999999'],
        ['refused', null, SENDER],
        ['accepted', 'PUBLISHED', SENDER],
      ],
    )
    const timeline = await nuncio.operator.administration.findRequest(refused.headers.get('x-request-id') ?? '', null)
    assert.equal(timeline.body, JSON.stringify(body))
    assert.equal(timeline.remoteAddress, '127.0.0.1')
  })
})
