import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, onTestFinished } from 'vitest'
import type { FaultKind, Simulator } from './simulator-types.ts'
import { callGraph, NUMBER, openSimulator, PNG, textTo, uploadTo } from './simulator-world.ts'

const TO = '+491701234567'
const MESSAGES = `/v26.0/${NUMBER.phoneNumberId}/messages`

describe('faults of the simulated Cloud API', () => {
  it.each<[kind: FaultKind, sent: number, answer: unknown]>([
    ['drop-before', 0, 'ECONNRESET'],
    ['drop-after', 1, 'ECONNRESET'],
    ['half-answer', 1, 'cut off'],
    ['hang-before', 0, 'none'],
    ['hang-after', 1, 'none'],
    ['no-code', 0, 503],
    ['no-code-after', 1, 503],
    ['garbage', 1, 200],
    ['no-id', 1, 200],
    ['slow', 1, 200],
  ])('%s: does what it says, once', async (kind, sent, answer) => {
    const { simulator } = await openSimulator()
    simulator.fault(kind, { times: 1, delayMs: 20 })

    const first = await outcomeOf(simulator, TO)
    const sentByFirst = simulator.sent.length
    const second = await outcomeOf(simulator, TO)

    assert.deepEqual([first, sentByFirst], [answer, sent])
    assert.equal(second, 200)
    if (answer !== 'none') assert.deepEqual(simulator.requests[0]?.fault, kind)
  })

  it('hit only the given recipient, calls and share', async () => {
    const { simulator } = await openSimulator({ seed: 5 })
    simulator.dropBefore({ to: '+491700000001' })
    simulator.dropBefore({ on: 'media', times: 1 })
    simulator.dropAfterActing({ to: '+491700000002', rate: 0.5 })

    const other = await outcomeOf(simulator, TO)
    const meant = await outcomeOf(simulator, '+491700000001')
    const upload = uploadTo(simulator.url, NUMBER.phoneNumberId, { bytes: PNG, mime: 'image/png' })
    const uploaded = await upload.then(
      ({ status }) => status,
      () => 'dropped',
    )
    const drawn: unknown[] = []
    for (let call = 0; call < 40; call += 1) drawn.push(await outcomeOf(simulator, '+491700000002'))

    assert.deepEqual([other, meant, uploaded], [200, 'ECONNRESET', 'dropped'])
    const dropped = drawn.filter((outcome) => outcome === 'ECONNRESET').length
    assert.ok(dropped > 8 && dropped < 32, `${dropped} of 40 were dropped`)
  })

  it('can refuse with any code of the published table, in the published form', async () => {
    const { simulator } = await openSimulator()
    simulator.fail({ code: 130429, times: 1 })
    simulator.fail({ code: 131031, times: 1, httpStatus: 400, details: 'Locked.' })

    const throttled = await callGraph(simulator.url, MESSAGES, { body: textTo(TO) })
    const locked = await callGraph(simulator.url, MESSAGES, { body: textTo(TO) })
    const after = await callGraph(simulator.url, MESSAGES, { body: textTo(TO) })

    assert.deepEqual([throttled.status, locked.status, after.status], [429, 400, 200])
    const { fbtrace_id: _, ...error } = locked.body.error ?? { code: 0 }
    assert.deepEqual(error, {
      message: '(#131031) Account has been locked',
      type: 'OAuthException',
      code: 131031,
      error_data: { messaging_product: 'whatsapp', details: 'Locked.' },
    })
  })
})

describe('callbacks of the simulated Cloud API', () => {
  it('are signed over bytes that another JSON writer would not reproduce', async () => {
    const { simulator } = await openSimulator()
    const listener = await listen()
    simulator.deliverCallbacks({ url: listener.url, statuses: ['sent'] })

    await callGraph(simulator.url, MESSAGES, { body: { ...textTo(TO), biz_opaque_callback_data: 'é/1#1' } })
    await simulator.callbacksIdle()

    const [got] = listener.got
    const hmac = createHmac('sha256', NUMBER.appSecret).update(got?.body ?? '')
    assert.equal(got?.signature, `sha256=${hmac.digest('hex')}`)
    assert.match(got?.body ?? '', /\\u00e9\\\/1#1/)
    assert.notEqual(JSON.stringify(JSON.parse(got?.body ?? '')), got?.body)
    const [status] = statusesIn(listener.got)
    assert.deepEqual([status?.id, status?.biz_opaque_callback_data], [simulator.sent[0]?.wamid, 'é/1#1'])
  })

  it('are repeated until they are answered with 200, each time with the same bytes', async () => {
    const { simulator } = await openSimulator()
    const listener = await listen([503, 500, 302])
    simulator.deliverCallbacks({ url: listener.url, statuses: ['delivered'], retryMs: 1 })

    await callGraph(simulator.url, MESSAGES, { body: textTo(TO) })
    await simulator.callbacksIdle()

    assert.deepEqual(
      simulator.callbackTries.map(({ status }) => status),
      [503, 500, 302, 200],
    )
    assert.equal(new Set(listener.got.map(({ body }) => body)).size, 1)
  })

  it('can be lost, repeated, batched and out of order', async () => {
    const { simulator } = await openSimulator({ seed: 3 })
    const listener = await listen()
    const plan = { url: listener.url, delayMs: [0, 30], batch: 5, repeat: 0.3, shuffle: true, lose: 0.2 } as const
    simulator.deliverCallbacks(plan)

    for (let sent = 0; sent < 40; sent += 1) await callGraph(simulator.url, MESSAGES, { body: textTo(TO + sent) })
    await simulator.callbacksIdle()

    const statuses = statusesIn(listener.got)
    const different = new Set(statuses.map(({ id, status }) => `${id} ${status}`))
    const firstSeen = [...Map.groupBy(statuses, ({ id }) => id).values()].map(([first]) => first?.status)
    assert.ok(different.size > 80 && different.size < 112, `${different.size} of 120 came`)
    assert.ok(statuses.length > different.size, 'nothing was repeated')
    assert.ok(listener.got.length < statuses.length, 'nothing was batched')
    assert.ok(firstSeen.includes('read'), 'nothing was out of order')
  })

  it('can report failures later, and the first status before the call is answered', async () => {
    const { simulator } = await openSimulator()
    const listener = await listen()
    simulator.closeWindow('+491700000001', 'by-callback')
    const failLater = { code: 131026, to: '+491700000002' }
    simulator.deliverCallbacks({ url: listener.url, beforeAnswer: 1, failLater, statuses: ['sent'] })

    const seen: unknown[] = []
    for (const to of ['+491700000001', '+491700000002', TO]) {
      const { status } = await callGraph(simulator.url, MESSAGES, { body: textTo(to) })
      seen.push([
        status,
        statusesIn(listener.got)
          .map((one) => one.errors?.[0]?.code ?? one.status)
          .at(-1),
      ])
    }

    assert.deepEqual(seen, [
      [200, 131047],
      [200, 131026],
      [200, 'sent'],
    ])
    assert.deepEqual(
      simulator.sent.map(({ waId }) => waId),
      ['491701234567'],
    )
  })

  it('report messages of people, and changes of the number', async () => {
    const { simulator } = await openSimulator()
    const listener = await listen()
    simulator.deliverCallbacks({ url: listener.url })

    simulator.receive({ phoneNumberId: NUMBER.phoneNumberId, from: TO, text: 'Hello' })
    simulator.announce(NUMBER.phoneNumberId, 'phone_number_quality_update', {
      event: 'DOWNGRADE',
      current_limit: 'TIER_250',
    })
    await simulator.callbacksIdle()

    const changes = listener.got.flatMap(({ body }) => JSON.parse(body).entry[0].changes)
    assert.deepEqual(
      changes.map(({ field }) => String(field)).toSorted((a, b) => a.localeCompare(b)),
      ['messages', 'phone_number_quality_update'],
    )
  })

  it('are set up with a challenge that the URL must return', async () => {
    const { simulator } = await openSimulator()
    const listener = await listen()

    assert.equal(await simulator.verifyCallback(NUMBER.phoneNumberId, listener.url), true)
    simulator.changeNumber(NUMBER.phoneNumberId, { verifyToken: 'another' })
    assert.equal(await simulator.verifyCallback(NUMBER.phoneNumberId, listener.url), false)
  })
})

// Only calls that hang take this long.
const LONGEST_WAIT_MS = 3_000

async function outcomeOf({ url }: Simulator, to: string): Promise<unknown> {
  try {
    const response = await fetch(url + MESSAGES, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${NUMBER.accessToken}` },
      body: JSON.stringify(textTo(to)),
      signal: AbortSignal.timeout(LONGEST_WAIT_MS),
    })
    return await response.text().then(
      () => response.status,
      () => 'cut off',
    )
  } catch (error) {
    const { name, cause } = error as Error & { cause?: { code?: string } }
    return name === 'TimeoutError' ? 'none' : cause?.code
  }
}

interface Got {
  readonly body: string
  readonly signature: string
}

/** Stands for our own callback URL: answers with these statuses first, then with 200. */
async function listen(answers: readonly number[] = []) {
  const got: Got[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const query = new URL(request.url ?? '/', 'http://here').searchParams
    if (request.method === 'GET') {
      const isOurs = query.get('hub.verify_token') === NUMBER.verifyToken
      response.writeHead(isOurs ? 200 : 403).end(query.get('hub.challenge'))
      return
    }
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const status = answers[got.length] ?? 200
    got.push({ body: Buffer.concat(parts).toString(), signature: String(request.headers['x-hub-signature-256']) })
    response.writeHead(status).end()
  }
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { got, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/callbacks` }
}

interface Status {
  readonly id: string
  readonly status: string
  readonly biz_opaque_callback_data?: string
  readonly errors?: readonly { readonly code: number }[]
}

function statusesIn(got: readonly Got[]): Status[] {
  return got
    .flatMap(({ body }) => JSON.parse(body).entry)
    .flatMap(({ changes }) => changes)
    .flatMap(({ value }) => value.statuses)
}
