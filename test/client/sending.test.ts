import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { type ClientOptions, createClient, NuncioRefusal, NuncioUnreachable } from '../../client/nuncio-client.ts'
import { ENGINES } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'
import { cutAt, TcpProxy } from '../support/tcp-proxy.ts'

const TO = '15551234567'
const HELLO = { from: SENDER, to: TO, text: 'Hello' }
// The id in the body of every success. Cutting the connection here happens after the commit.
const SUCCESS = 'success_200'

function clientOf({ url, token }: Pick<Journey, 'url' | 'token'>, options: Partial<ClientOptions> = {}) {
  return createClient({ url, token, ...options })
}

async function openProxy({ url, token }: Journey) {
  const proxy = await TcpProxy.open(Number(new URL(url).port))
  onTestFinished(() => proxy.close())
  return { proxy, way: { url: proxy.through(url), token } }
}

/** Cuts off the answers of the first connections. */
function cutFirst(proxy: TcpProxy, connections: number): void {
  const cut = cutAt(SUCCESS)
  proxy.onServerData = (chunk, connection) => (connection <= connections ? cut(chunk, connection) : 'forward')
}

/** The behaviour of a client without a key. */
async function fetchWithoutKey(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers)
  headers.delete('idempotency-key')
  return fetch(url, { ...init, headers })
}

describe.each(ENGINES)('the client, with the service on $name', ({ start }) => {
  it('sends all five types', async () => {
    const host = await serveFiles({ '/a.png': { body: tinyPng(), type: 'image/png' } })
    const nuncio = await start({ settings: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' } })
    const client = clientOf(nuncio)
    const file = { url: `${host}/a.png`, name: 'a.png' }
    const ends = { from: SENDER, to: TO }

    const sent = [
      await client.send({ ...ends, text: 'Hello' }),
      await client.send({ ...ends, image: { ...file, caption: 'A caption' } }),
      await client.send({ ...ends, document: file }),
      await client.send({ ...ends, video: file }),
      await client.send({ ...ends, audio: file }),
    ]

    for (const { messageId, requestId, state } of sent) {
      assert.match(messageId, /^[0-9a-f-]{36}$/)
      assert.ok(requestId)
      assert.equal(state, 'QUEUED')
    }
    const stories = await Promise.all(sent.map(({ messageId }) => nuncio.timeline(messageId)))
    assert.deepEqual(
      stories.map(({ message }) => message.type),
      ['message', 'image', 'document', 'video', 'audio'],
    )
    await nuncio.reaches(sent[2]?.messageId ?? '', 'PUBLISHED')
    const [text, image, document] = await nuncio.inbox()
    assert.deepEqual([text?.text, image?.caption, document?.name], ['Hello', 'A caption', 'a.png'])
  })

  it('distinguishes refusals', async () => {
    const nuncio = await start()
    const client = clientOf(nuncio)
    const refusalOf = (call: Promise<unknown>) =>
      call.then(
        () => assert.fail('it was accepted'),
        (error: unknown) => (error instanceof NuncioRefusal ? error : assert.fail(String(error))),
      )

    const wrong = await refusalOf(client.send({ from: SENDER, to: '+1 555 1234567', text: ' ' }))
    const stranger = await refusalOf(clientOf({ ...nuncio, token: `nco_${'0'.repeat(38)}` }).send(HELLO))
    const nowhere = await refusalOf(client.send({ ...HELLO, from: '15559999999' }))
    await client.send(HELLO, { idempotencyKey: 'order-1' })
    const reused = await refusalOf(client.send({ ...HELLO, text: 'Another' }, { idempotencyKey: 'order-1' }))

    assert.deepEqual([wrong.status, wrong.code, wrong.name], [400, 'HC-2', 'bad_request_400'])
    assert.deepEqual(
      wrong.fields.map(({ field, code }) => [field, code]),
      [
        ['to', 'number_malformed'],
        ['message.message', 'text_empty'],
      ],
    )
    assert.ok(wrong.requestId)
    assert.deepEqual([stranger.status, stranger.name], [401, 'unauthorized_401'])
    assert.deepEqual([nowhere.status, nowhere.name], [404, 'connection_not_found_404'])
    assert.equal(reused.fields[0]?.code, 'idempotency_key_reused')
    assert.ok([wrong, stranger, nowhere, reused].every(({ isRetryable }) => !isRetryable))
  })

  it('G5: makes one message although the answers to two tries are cut off', async () => {
    const nuncio = await start()
    const { proxy, way } = await openProxy(nuncio)
    cutFirst(proxy, 2)

    const { messageId } = await clientOf(way).send(HELLO)
    await nuncio.reaches(messageId, 'PUBLISHED')

    assert.equal(proxy.connections, 3)
    assert.deepEqual(
      (await nuncio.inbox()).map((entry) => entry.messageId),
      [messageId],
    )
  })

  it('would make two messages without a key', async () => {
    const nuncio = await start()
    const { proxy, way } = await openProxy(nuncio)
    cutFirst(proxy, 1)

    const { messageId } = await clientOf(way, { fetch: fetchWithoutKey }).send(HELLO)
    await nuncio.reaches(messageId, 'PUBLISHED')

    assert.equal((await nuncio.inbox()).length, 2)
  })

  it('G5: makes one message although the first answer did not come in time', async () => {
    const nuncio = await start()
    const { proxy, way } = await openProxy(nuncio)
    proxy.onServerData = (_, connection) => (connection === 1 ? 'hold' : 'forward')

    const { messageId } = await clientOf(way, { timeoutMs: 2000 }).send(HELLO)
    await nuncio.reaches(messageId, 'PUBLISHED')

    assert.equal((await nuncio.inbox()).length, 1)
  })

  it('G5: reports an unknown result, with the key for a retry', async () => {
    const nuncio = await start()
    const { proxy, way } = await openProxy(nuncio)
    proxy.onServerData = cutAt(SUCCESS)
    const client = clientOf(way, { retries: 1 })

    const error: unknown = await client.send(HELLO).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof NuncioUnreachable)
    proxy.heal()
    const { messageId } = await client.send(HELLO, { idempotencyKey: error.idempotencyKey })
    await nuncio.reaches(messageId, 'PUBLISHED')

    assert.equal((await nuncio.inbox()).length, 1)
  })

  it('waits when the service asks it to send more slowly', async () => {
    const nuncio = await start({ settings: { NUNCIO_ACCEPT_RATE_PER_ACCOUNT: '1' } })
    const statuses: number[] = []
    const client = clientOf(nuncio, {
      fetch: async (url, init) => {
        const response = await fetch(url, init)
        statuses.push(response.status)
        return response
      },
    })

    await Promise.all([client.send(HELLO), client.send({ ...HELLO, text: 'Second' })])

    assert.ok(statuses.includes(429))
    assert.equal(statuses.filter((status) => status === 200).length, 2)
  })
})
