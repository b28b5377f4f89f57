import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { putFile } from '../../src/operations/verify-adapter/request-cases.ts'
import { verifyAdapter } from '../../src/operations/verify-adapter/verify-adapter.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { NUMBER, type Report, sha256Of } from '../support/bridge/fake-messengers.ts'
import { type MessengerName, openWorld, TO } from '../support/bridge/messenger-world.ts'

const PAGE = '<html>Welcome</html>'
const NAMES = ['waha', 'evolution', 'gowa'] as const

interface Read {
  readonly status: number
  readonly value: unknown
  /** The answer as it comes, if it is not JSON. */
  readonly text?: string
  readonly is: string
  readonly attempt?: number
}

/** What the gateway may answer, and what it means. Everything that does not certainly mean “not sent” is unknown. */
const ANSWERS: Readonly<Record<MessengerName, readonly Read[]>> = {
  waha: [
    { status: 201, value: {}, is: 'accepted' },
    { status: 201, value: '', text: '', is: 'accepted' },
    { status: 201, value: 'a page', text: PAGE, is: 'unknown' },
    { status: 200, value: {}, is: 'unknown' },
    { status: 401, value: { message: 'Unauthorized' }, is: 'rejected connection gateway_auth' },
    {
      status: 422,
      value: { error: 'Session status is not as expected', status: 'STARTING', expected: ['WORKING'] },
      is: 'rejected connection sender_offline',
    },
    { status: 422, value: { message: 'validation' }, is: 'unknown' },
    { status: 400, value: {}, is: 'unknown' },
    { status: 500, value: { message: 'server returned error 400' }, is: 'unknown' },
  ],
  evolution: [
    { status: 201, value: { key: { id: 'A' } }, is: 'accepted' },
    { status: 201, value: {}, is: 'unknown' },
    { status: 200, value: 'a page', text: PAGE, is: 'unknown' },
    { status: 401, value: {}, is: 'rejected connection gateway_auth' },
    {
      status: 400,
      value: { response: { message: [{ exists: false, jid: '1@s.whatsapp.net' }] } },
      is: 'rejected permanent recipient_unknown',
    },
    { status: 400, value: { response: { message: ['Error: Timed Out'] } }, is: 'unknown' },
    { status: 400, value: { response: { message: 'Connection Closed' } }, is: 'unknown' },
    {
      status: 404,
      value: { response: { message: ['The "shop" instance does not exist'] } },
      is: 'rejected connection gateway_setup',
    },
    { status: 404, value: { message: 'Cannot POST' }, is: 'unknown' },
    { status: 500, value: {}, is: 'unknown' },
  ],
  gowa: [
    { status: 200, value: { code: 'SUCCESS', results: {} }, is: 'accepted' },
    { status: 200, value: {}, is: 'unknown' },
    { status: 400, value: { code: 'VALIDATION_ERROR' }, is: 'rejected permanent content_refused' },
    { status: 400, value: { code: 'INVALID_JID' }, is: 'rejected transient recipient_unknown', attempt: 3 },
    { status: 400, value: { code: 'DEVICE_ID_REQUIRED' }, is: 'rejected connection gateway_setup' },
    { status: 400, value: { code: 'OTHER' }, is: 'unknown' },
    { status: 401, value: { code: 'AUTHENTICATION_ERROR' }, is: 'rejected connection sender_offline' },
    { status: 401, value: 'Unauthorized', is: 'rejected connection gateway_auth' },
    { status: 404, value: { code: 'DEVICE_NOT_FOUND' }, is: 'rejected connection gateway_setup' },
    { status: 429, value: { code: 'WA_REACHOUT_TIMELOCK' }, is: 'rejected recipient recipient_limit' },
    { status: 503, value: { code: 'DEVICE_MANAGER_UNAVAILABLE' }, is: 'rejected transient busy' },
    { status: 503, value: {}, is: 'unknown' },
    { status: 504, value: { code: 'GATEWAY_TIMEOUT' }, is: 'unknown' },
  ],
}

// Concurrently, because most of the time they wait for broken connections and repeated receipts.
describe('the adapters for messengers', () => {
  it.concurrent.each(NAMES)('keep the promises of the protocol: %s', async (name) => {
    await using world = await openWorld(name, { isBetween: true })
    const { url, secret, proxy } = world
    const receipts = `127.0.0.1:${await findFreePort()}`
    const wrong: string[] = []
    const asked = { url, secrets: secret, to: TO, from: NUMBER, receipts, proxy, restart: world.restart }

    for await (const { title, problem } of verifyAdapter(asked))
      if (problem !== null) wrong.push(`${title}: ${problem}`)

    assert.deepEqual(wrong, [])
  })
})

describe.each(NAMES)('the adapter for %s', (name) => {
  it('sends each type unchanged, with its caption and its name', async () => {
    await using world = await openWorld(name)
    const file = Buffer.from(Array.from({ length: 200_000 }, (_, place) => place % 251))
    const sha256 = sha256Of(file)
    assert.equal(await putFile(world.adapter, sha256, file), true)
    const media = (mime: string) => ({ sha256, sizeBytes: file.length, mime })
    const contents = [
      { type: 'message', text: 'Grüße 🙂 "{}"' },
      { type: 'image', caption: 'Schön', name: 'a "b".png', media: media('image/png') },
      { type: 'document', caption: null, name: 'a.pdf', media: media('application/pdf') },
      { type: 'video', caption: 'c', name: 'a.mp4', media: media('video/mp4') },
      { type: 'audio', caption: null, name: 'a.ogg', media: media('audio/ogg') },
    ]

    for (const content of contents) assert.equal((await world.attempt({ content }))['result'], 'accepted')

    assert.deepEqual(
      world.gateway.sent.map(({ to, type, text, sha256: arrived }) => [to, type, text, arrived]),
      contents.map(({ type, text, caption }) => [
        TO,
        type,
        text ?? caption ?? null,
        type === 'message' ? null : sha256,
      ]),
    )
    const [, image] = world.gateway.sent
    assert.match(image?.name ?? '', /^a ["_]b["_]\.png$/)
    assert.equal(image?.mime, 'image/png')
  })

  it('reports whether its gateway is ready, and why not', async () => {
    await using world = await openWorld(name)
    const ready = await world.health()
    world.gateway.isReady = false
    const notReady = await world.health()
    await world.gateway.close()
    const away = await world.health()

    assert.deepEqual([ready['ready'], notReady['ready'], away['ready']], [true, false, false])
    assert.match(String(notReady['words']), /is SCAN_QR_CODE|is connecting|is not logged in/)
    assert.match(String(away['words']), /does not answer/)
    assert.deepEqual(ready['senders'], name === 'evolution' ? null : [NUMBER])
  })

  it.each(ANSWERS[name])('reads $status $value as $is', async ({ status, value, text, is, attempt = 1 }) => {
    await using world = await openWorld(name)
    world.gateway.answer = { status, value, text }

    const { result, class: kind, code } = await world.attempt({ attempt })

    assert.equal([result, kind, code].filter(Boolean).join(' '), is)
    assert.deepEqual(world.gateway.sent, [])
  })

  it('passes on the reports of its gateway, and believes only its webhook', async () => {
    await using world = await openWorld(name)
    const receiver = await world.takeReceipts()
    const { networkId } = await world.attempt({ receiptsUrl: receiver.url })
    const id = String(networkId)

    const forged = await world.gateway.report({ id, kind: 'read' }, 'another key')
    const foreign = await world.gateway.report({ id: 'OF-THE-PHONE-ITSELF', kind: 'read' })
    const own = await world.gateway.report({ id, kind: 'read' })
    await world.gateway.report({ id, kind: 'failed' })
    const expected: readonly Report['kind'][] =
      name === 'gowa' ? ['delivered', 'read'] : ['delivered', 'failed', 'read', 'sent']
    await waitUntil('the receipts came', async () => receiver.receipts.length >= expected.length, {
      deadlineMs: 20_000,
    })

    assert.deepEqual([forged, foreign, own], [401, 200, 200])
    assert.deepEqual(
      receiver.receipts.map(({ kind }) => String(kind)).toSorted((a, b) => a.localeCompare(b)),
      expected,
    )
    assert.ok(receiver.receipts.every((one) => one['networkId'] === id))
  })
})

describe('the adapter for gowa, if its gateway answers that a number is unknown', () => {
  it('believes that the third time for one message', async () => {
    await using world = await openWorld('gowa')
    const [one, other] = [crypto.randomUUID(), crypto.randomUUID()]
    world.gateway.answer = { status: 400, value: { code: 'INVALID_JID' } }

    const kinds: unknown[] = []
    for (const [messageId, attempt] of [
      [one, 2],
      [one, 3],
      [other, 1],
      [one, 7],
    ] as const)
      kinds.push((await world.attempt({ messageId, attempt, attemptId: `${messageId}_${attempt}` }))['class'])

    assert.deepEqual(kinds, ['transient', 'transient', 'transient', 'permanent'])
  })
})

describe('the adapter for gowa, with the default webhook secret of GOWA', () => {
  it('does not start, and says why', async () => {
    await assert.rejects(openWorld('gowa', { webhookKey: 'secret' }), /the secret that everybody knows/)
  })
})
