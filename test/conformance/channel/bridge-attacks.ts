import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { keyOf, verifySigned } from '../../../src/channels/bridge/signing.ts'
import { type Fault, newSecret, ScriptedAdapter } from '../../support/bridge/scripted-adapter.ts'
import type { BridgeWorld } from './bridge-world.ts'
import { becomes, promisingIn, type Suite, sendBy } from './channel-world.ts'

type NewBridgeWorld = () => Promise<BridgeWorld>
type Answer = Extract<Fault, { kind: 'crafted' }>['answer']
type Attack = (adapter: ScriptedAdapter, elsewhere: string) => Answer

const TO = '15550007900'
const ACCEPTED = { type: 'outcome', result: 'accepted', networkId: 'net-1' }
const REJECTED = { type: 'outcome', result: 'rejected', class: 'permanent', code: 'recipient_refused' }
const BEYOND_TOLERANCE_MS = 360_000

const unsigned =
  (status: number, headers: Readonly<Record<string, string>> = {}): Attack =>
  () =>
  ({ attemptId }) => ({ status, headers, body: JSON.stringify({ ...REJECTED, attemptId }) })

/** Answers that may come back instead of the adapter's, although the message may have been sent. */
const ANSWERS: Readonly<Record<string, Attack>> = {
  ...Object.fromEntries(
    [200, 201, 204, 400, 401, 403, 404, 413, 422, 429, 500, 502, 503].map((status) => [
      `${status} without a signature`,
      unsigned(status, status === 503 || status === 429 ? { 'retry-after': '60' } : {}),
    ]),
  ),
  'a redirect': (_, elsewhere) => () => ({ status: 307, headers: { location: elsewhere } }),
  'a signature of another secret': () => {
    const forger = newSecret()
    return ({ id, attemptId }) => ScriptedAdapter.signedBy(forger, id, { ...REJECTED, attemptId })
  },
  'a signature over another body':
    (adapter) =>
    ({ id, attemptId }) => ({
      ...adapter.signed(id, { ...ACCEPTED, attemptId }),
      body: JSON.stringify({ ...REJECTED, attemptId }),
    }),
  'a signed answer with another status':
    (adapter) =>
    ({ id, attemptId }) => ({
      ...adapter.signed(id, { ...REJECTED, attemptId }),
      status: 400,
    }),
  'the answer to another request':
    (adapter) =>
    ({ attemptId }) =>
      adapter.signed(`att_${crypto.randomUUID()}_1`, { ...REJECTED, attemptId }),
  'an answer from long ago':
    (adapter) =>
    ({ id, attemptId }) => {
      adapter.clockOffsetMs = -BEYOND_TOLERANCE_MS
      return adapter.signed(id, { ...REJECTED, attemptId })
    },
  'its own request':
    () =>
    ({ headers, body }) => ({
      status: 200,
      headers: Object.fromEntries(
        ['nuncio-bridge', 'webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
          name,
          String(headers[name]),
        ]),
      ),
      body,
    }),
  'more than 64 KiB':
    (adapter) =>
    ({ id, attemptId }) =>
      adapter.signed(id, { ...REJECTED, attemptId, more: 'x'.repeat(65_536) }),
  'a result of another version':
    (adapter) =>
    ({ id, attemptId }) =>
      adapter.signed(id, { ...REJECTED, attemptId, result: 'postponed' }),
  'a class of another version':
    (adapter) =>
    ({ id, attemptId }) =>
      adapter.signed(id, { ...REJECTED, attemptId, class: 'sometimes' }),
}

/** An answer that does not come from the adapter is not believed. */
export function onlyAdaptersAreBelieved(suite: Suite, newWorld: NewBridgeWorld): void {
  const promises = promisingIn(suite, newWorld)

  for (const [name, attack] of Object.entries(ANSWERS))
    promises(`G5: ${name} says nothing: the result is unknown, and no word of it is shown`, async (world) => {
      const elsewhere = await listening()
      world.adapter.faults.set(TO, { kind: 'crafted', answer: attack(world.adapter, elsewhere.url) })

      const outcome = await sendBy(world.channel, await world.handover({ to: TO }))
      const { attempts } = world.adapter

      assert.ok(outcome.kind === 'unknown', JSON.stringify(outcome))
      assert.doesNotMatch(outcome.words, /recipient_refused|\b[2-5]\d\d\b/)
      assert.deepEqual([attempts, await elsewhere.close()], [1, 0])
    })

  promises('an adapter with another secret leaves one message unknown, and the next ones wait', async (world) => {
    world.adapter.faults.set(TO, { kind: 'crafted', answer: unsigned(401)(world.adapter, '') })
    await sendBy(world.channel, await world.handover({ to: TO }))

    for (let i = 0; i < 5; i++) {
      const outcome = await sendBy(world.channel, await world.handover())
      assert.ok(outcome.kind === 'rejected' && outcome.failure.code === 'bridge_not_ready')
      assert.equal(outcome.failure.class, 'connection')
    }

    assert.equal(world.adapter.attempts, 1)
  })

  promises('polls an adapter that is not ready once a second at most', async (world) => {
    world.adapter.isReady = false
    const until = Date.now() + 2_500
    const handover = await world.handover()
    while (Date.now() < until) {
      await sendBy(world.channel, handover)
      world.channel.rateLimitDelayOf?.({ ...handover }, Date.now())
      await new Promise((resolve) => setTimeout(resolve, 5))
    }

    const asked = world.adapter.requests.filter(({ path }) => path.endsWith('/health')).length
    assert.ok(asked >= 2 && asked <= 4, `it was asked ${asked} times`)
    assert.equal(world.adapter.attempts, 0)
  })
}

/** Forged receipts are refused, or change nothing. */
export function receiptsAreVerified(suite: Suite, newWorld: NewBridgeWorld): void {
  const promises = promisingIn(suite, newWorld)

  promises('are refused without a recent signature of this secret', async (world) => {
    const { adapter, callbackUrl } = world
    const receipt = await receiptOf(world)
    const body = JSON.stringify({ type: 'receipts', receipts: [receipt] })
    const id = `rcp_${crypto.randomUUID()}`
    const signed = adapter.signedHeaders(id, body)
    adapter.clockOffsetMs = -BEYOND_TOLERANCE_MS
    const old = adapter.signedHeaders(id, body)
    adapter.clockOffsetMs = BEYOND_TOLERANCE_MS
    const ahead = adapter.signedHeaders(id, body)
    const { 'webhook-signature': _, ...without } = signed
    const post = (headers: Readonly<Record<string, string>>, text = body) =>
      fetch(callbackUrl, { method: 'POST', headers, body: text }).then(({ status }) => status)

    assert.deepEqual(
      [
        await post({}),
        await post(without),
        await post(old),
        await post(ahead),
        await post(signed, body.replace('delivered', 'read')),
        await post({ ...signed, 'webhook-id': `rcp_${crypto.randomUUID()}` }),
        await post({ ...signed, 'nuncio-bridge': '2' }),
        await post(adapter.signedHeaders(`hea_${crypto.randomUUID()}`, body)),
      ],
      Array(8).fill(401),
    )
    assert.deepEqual(world.receipts, [])
    assert.equal(await post(signed), 200)
  })

  promises('are refused in other forms and beyond a hundred', async (world) => {
    const { adapter, callbackUrl } = world
    const receipt = await receiptOf(world)
    const statuses: number[] = []
    const signatures: (string | null)[] = []
    for (const value of [
      { type: 'receipt', receipts: [receipt] },
      { type: 'receipts', receipts: receipt },
      { type: 'receipts', receipts: Array(101).fill(receipt) },
      [receipt],
      null,
    ]) {
      const id = `rcp_${crypto.randomUUID()}`
      const { headers, body } = adapter.signed(id, value)
      const answer = await fetch(callbackUrl, { method: 'POST', headers, body })
      statuses.push(answer.status)
      const received = { header: (name: string) => answer.headers.get(name), now: Date.now() }
      const keys = world.secrets.flatMap((secret) => keyOf(secret) ?? [])
      signatures.push(verifySigned(keys, { ...received, content: await answer.bytes() }) === id ? 'signed' : null)
    }

    assert.deepEqual(statuses, Array(5).fill(400))
    // Otherwise an adapter would repeat them for days, because a 400 may also come from a proxy.
    assert.deepEqual(signatures, Array(5).fill('signed'))
    assert.deepEqual(world.receipts, [])
  })

  promises('count once when they are replayed', async (world) => {
    const { adapter, callbackUrl } = world
    const { headers, body } = adapter.signed(`rcp_${crypto.randomUUID()}`, {
      type: 'receipts',
      receipts: [await receiptOf(world)],
    })
    const replay = () => fetch(callbackUrl, { method: 'POST', headers, body }).then(({ status }) => status)

    const statuses = await Promise.all(Array.from({ length: 20 }, replay))
    assert.ok(await becomes(10_000, () => world.receipts.length > 0))

    assert.deepEqual(statuses, Array(20).fill(200))
    // Storage recognises a report by its content, so all of them must be equal.
    assert.equal(new Set(world.receipts.map((one) => JSON.stringify(one))).size, 1)
  })

  promises(
    'G8: change nothing of another connection, and contain neither control characters nor secrets',
    async (world) => {
      const { adapter, callbackUrl } = world
      const receipt = await receiptOf(world)
      const words = `no\u0000 \u001b[31m${world.secrets[0]}\u202e`
      await adapter.postReceipts(callbackUrl, [
        { ...receipt, connectionId: crypto.randomUUID() },
        { ...receipt, attemptId: '../../etc/passwd' },
        { ...receipt, kind: 'failed', code: 'busy', words },
      ])
      assert.ok(await becomes(10_000, () => world.receipts.length > 0))

      assert.equal(world.receipts.length, 1)
      assert.doesNotMatch(world.receipts[0]?.words ?? '', /\p{C}|whsec_|[A-Za-z0-9+/]{20}/u)
    },
  )
}

async function receiptOf(world: BridgeWorld) {
  const { connectionId } = world
  const { messageId } = await world.handover()
  return { attemptId: `${messageId}_1`, connectionId, kind: 'delivered', at: Date.now(), networkId: null }
}

/** Counts the requests that it receives. */
async function listening() {
  let requests = 0
  const server = createServer((_, response) => {
    requests += 1
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/attempts`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      return requests
    },
  }
}
