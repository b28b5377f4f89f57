import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { LoadAwareDeadline } from '../support/black-box/load-aware-deadline.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, openStranger, settingsOf } from '../support/journey/engines.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'
import { ApiCaller, type HeaderLine } from '../support/openapi/api-caller.ts'
import { type ApiDocument, operationOf, type Parameter, resolve } from '../support/openapi/api-document.ts'
import { callAll, findingsIn, GOOD, readDocument } from '../support/openapi/drive-endpoint.ts'
import { RequestMaker } from '../support/openapi/make-requests.ts'
import { type Replied, ReplyChecker } from '../support/openapi/reply-checker.ts'
import { RawConnection } from './raw-http/raw-connection.ts'

describe.each(ENGINES)('the endpoint, driven by its document, on $name', (engine) => {
  let journey: Journey
  let document: ApiDocument
  let maker: RequestMaker
  let caller: ApiCaller

  beforeEach(async () => {
    journey = await engine.start()
    document = await readDocument(journey.url)
    maker = new RequestMaker(document, { from: SENDER })
    caller = new ApiCaller(document, journey)
  })

  it('accepts every request that the document allows', async () => {
    const answered = await callAll(caller, [...maker.examples(), ...maker.good(GOOD)])

    assert.deepEqual(findingsIn(document, 200, answered), [])
  })

  it('refuses every request that breaks a rule of the document, one at a time', async () => {
    const bad = maker.bad()
    const answered = await callAll(caller, bad)

    assert.ok(bad.length > 150, `only ${bad.length} were made`)
    assert.deepEqual(findingsIn(document, 400, answered), [])
  })

  it('refuses bodies that are not unambiguous JSON', async () => {
    const [good] = maker.examples()
    const text = JSON.stringify(good?.body)
    const spoilt = ['', '{', text.slice(0, -1), `${text},`, text.replace('"to"', '"from":"1","to"'), `[${text}]`]
    const answered = await Promise.all(
      [...spoilt, `${' '.repeat(65_536)}${text}`].map(async (bytes) => ({
        what: bytes.slice(0, 40),
        reply: await caller.call({ bytes }),
      })),
    )

    assert.deepEqual(findingsIn(document, 400, answered), [])
  })

  it('accepts an Idempotency-Key that the document allows, and no other', async () => {
    const [good] = maker.examples()
    const name = 'idempotency-key'
    const parameter = resolve<Parameter>(document, operationOf(document).post.parameters[0] ?? { $ref: '' })
    const { maxLength = 0 } = parameter.schema
    const call = async (key: string) => ({
      what: `the key ${key.slice(0, 20)}`,
      reply: await caller.call({ body: good?.body, headers: caller.headers([name, key]) }),
    })

    const fine = [await call('order-1'), await call('order-1'), await call('k'.repeat(maxLength))]
    const wrong = [await call(''), await call('k'.repeat(maxLength + 1)), await call('clé'), await call('a\tb')]
    const [, other] = maker.examples()
    const reused = await caller.call({ body: other?.body, headers: caller.headers([name, 'order-1']) })

    assert.equal(parameter.name.toLowerCase(), name)
    assert.deepEqual(findingsIn(document, 200, fine), [])
    assert.equal(fine[0]?.reply.headers['x-message-id'], fine[1]?.reply.headers['x-message-id'])
    assert.deepEqual(findingsIn(document, 400, [...wrong, { what: 'another body', reply: reused }]), [])
  })

  it('refuses headers that the document does not allow, and invalid tokens', async () => {
    const [good] = maker.examples()
    const answer = async (...headers: HeaderLine[]) => ({
      what: JSON.stringify(headers),
      reply: await caller.call({ body: good?.body, headers: caller.headers(...headers) }),
    })
    const json = ['content-type', 'application/json'] as const
    const types = ['', 'text/plain', 'application/xml', 'application/json; charset=latin1']

    const wrongTypes = await Promise.all([
      ...types.map((type) => answer(['content-type', type])),
      answer(json, json),
      answer(['content-encoding', 'gzip']),
    ])
    const token = [['x-api-key', journey.token]] as const
    const noTokens = await Promise.all([
      answer(['x-api-key', '']),
      answer(['x-api-key', `${journey.token}x`]),
      answer(['x-api-key', `nco_${'0'.repeat(38)}`]),
      answer(...token, ...token),
      caller.call({ body: good?.body, headers: [json] }).then((reply) => ({ what: 'no token', reply })),
    ])

    assert.deepEqual(findingsIn(document, 400, wrongTypes), [])
    assert.deepEqual(findingsIn(document, 401, noTokens), [])
  })

  it('answers with every status of the document except that of a fault, as the document says', async () => {
    const [good] = maker.examples()
    const body = good?.body as object
    const accepted = await caller.call({ body })
    const refused = await caller.call({ body: {} })
    const unknown = await caller.call({ body, headers: [['content-type', 'application/json']] })
    // The examples of the document come from a number that is not connected.
    const { content } = operationOf(document).post.requestBody
    const notConnected = await caller.call({ body: content['application/json']?.examples['message']?.value })
    const elsewhere = await caller.call({ body, path: `${operationOf(document).path}/elsewhere` })
    const tooLarge = await caller.call({ body, headers: caller.headers(['x-much', 'a'.repeat(9_000)]) })
    const unexpected = await caller.call({ body, headers: caller.headers(['expect', 'the-unexpected']) })
    const version = await caller.call({ body, version: 'HTTP/2.0' })
    const [slow, denied, limited, unavailable] = await Promise.all([
      askSlowly(journey.url),
      askWithoutEvent(journey, document, body),
      askTooOften(engine, body),
      askWhileBlocked(engine, body),
    ])

    const replies = [accepted, refused, unknown, notConnected, elsewhere, tooLarge, unexpected, version]
    const all = [...replies, slow, denied, limited, unavailable]
    const checker = new ReplyChecker(document)
    assert.deepEqual(
      all.flatMap((reply) => checker.check(reply)),
      [],
    )
    const met = new Set(all.map(({ status }) => String(status)))
    assert.deepEqual(
      Object.keys(operationOf(document).post.responses).filter((status) => !met.has(status)),
      ['500'],
    )
  })
})

/** Waits until the service times out an incomplete request. */
async function askSlowly(url: string): Promise<Replied> {
  const connection = await RawConnection.open(Number(new URL(url).port))
  connection.send('POST /chat/api/v1/public/message/send HTTP/1.1\r\nHost: a\r\n')
  const reply = await connection.nextReply()
  connection.close()
  assert.ok(reply)
  return reply
}

async function askWithoutEvent(journey: Journey, document: ApiDocument, body: object): Promise<Replied> {
  const cli = new CliOn(journey.dataDir, settingsOf(journey))
  const { token } = await cli.json<{ token: string }>(
    'token',
    'create',
    '--name',
    'mute',
    '--expires',
    '7d',
    '--no-events',
  )
  return await new ApiCaller(document, { url: journey.url, token }).call({ body })
}

async function askTooOften(engine: (typeof ENGINES)[number], body: object): Promise<Replied> {
  const limited = await engine.start({ settings: { NUNCIO_ACCEPT_RATE_PER_ACCOUNT: '1' } })
  const caller = new ApiCaller(await readDocument(limited.url), limited)
  const deadline = new LoadAwareDeadline(10_000)
  for (;;) {
    const reply = await caller.call({ body })
    if (reply.status !== 200) return reply
    assert.ok(!deadline.isOver(), 'nothing was limited')
  }
}

/** Another process locks the database for longer than a request waits. */
async function askWhileBlocked(engine: (typeof ENGINES)[number], body: object): Promise<Replied> {
  const blocked = await engine.start()
  const caller = new ApiCaller(await readDocument(blocked.url), blocked)
  const stranger = await openStranger(blocked.database)
  const isSqlite = blocked.database.engine === 'sqlite'
  await stranger.run(isSqlite ? 'begin immediate' : 'begin; lock table message in access exclusive mode')
  try {
    return await caller.call({ body })
  } finally {
    await stranger.run('rollback')
    await stranger.close()
  }
}
