import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { cameWith, logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import type { RequestFilter, RequestView } from '../../../core/ports/administration.ts'

const ALL: RequestFilter = { accountId: null, tokenIds: null, connection: null, statuses: null, limit: null }

let world: AdministrationWorld
let acme: AccountId
let connectionId: ConnectionId
let shop: TokenId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  acme = await world.account()
  connectionId = await world.connection(acme)
  shop = await tokenOf(acme, 'shop')
  return close
}

async function tokenOf(accountId: AccountId, name: string): Promise<TokenId> {
  const token = await world.administration.createToken(
    {
      accountId,
      name,
      events: [],
      expiresAt: NOON + 1_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: Buffer.from(`${accountId} ${name}`),
      prefix: name,
    },
    'test',
  )
  return token.id
}

function bodyFrom(from: unknown): string {
  return JSON.stringify({ from, to: '15550100000', message: { type: 'image' } })
}

async function list(filter: Partial<RequestFilter> = {}): Promise<RequestView[]> {
  const requests: RequestView[] = []
  for await (const request of world.administration.listRequests({ ...ALL, ...filter })) requests.push(request)
  return requests
}

async function ids(filter: Partial<RequestFilter> = {}): Promise<string[]> {
  return (await list(filter)).map(({ requestId }) => requestId)
}

describe.each(ENGINES)('the API log, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is empty at first', async () => {
    assert.deepEqual(await list(), [])
  })

  it('shows accepted, repeated and refused requests together, newest first', async () => {
    const { id } = await world.accept({ connectionId, acceptedAt: NOON })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'refused', receivedAt: NOON + 1_000 })
    await world.accept({ connectionId, acceptedAt: NOON + 2_000 })
    await logRequest(world, {
      accountId: acme,
      tokenId: shop,
      requestId: 'again',
      receivedAt: NOON + 3_000,
      messageId: id,
    })
    await world.accept({ connectionId, acceptedAt: NOON + 4_000 })

    const requests = await list()

    assert.deepEqual(
      requests.map(({ requestId, outcome }) => [requestId, outcome]),
      [
        ['request-3', 'accepted'],
        ['again', 'repeated'],
        ['request-2', 'accepted'],
        ['refused', 'refused'],
        ['request-1', 'accepted'],
      ],
    )
  })

  it('shows the reply to an accepted request and the state of its message', async () => {
    const { id, sequence } = await world.accept({ connectionId })
    await cameWith(world, sequence, shop)
    await world.openAttempt(connectionId, sequence)
    await world.run(
      'insert into accept_commit (last_sequence, first_sequence, took_us) values (?, 1, 900)',
      sequence + 5,
    )

    assert.deepEqual(await list(), [
      {
        requestId: 'request-1',
        account: 'Acme',
        token: 'shop',
        // It had taken 0.7 ms when it was accepted.
        receivedAt: NOON - 1,
        status: 200,
        code: 'HC-1',
        outcome: 'accepted',
        errors: [],
        messageId: id,
        state: 'SENDING',
        connection: '15550001000',
        to: '15550100000',
        type: 'message',
        remoteAddress: '203.0.113.9',
        userAgent: 'curl/8',
        tookMs: 1.6,
        summed: null,
      },
    ])
  })

  it('leaves the duration open while the commit’s own is not known', async () => {
    const { sequence } = await world.accept({ connectionId })
    await world.run(
      'insert into accept_commit (last_sequence, first_sequence, took_us) values (?, ?, 9)',
      sequence,
      sequence,
    )
    await world.accept({ connectionId })

    assert.deepEqual(
      (await list()).map(({ tookMs }) => tookMs),
      [null, 0.7],
    )
  })

  it('shows the errors of a refused request, and its fields as far as they can be read', async () => {
    const errors = [{ field: 'from', code: 'number_malformed', message: 'A number is digits only.' }]
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'r', errors, body: bodyFrom('+1 555') })

    assert.deepEqual(await list(), [
      {
        requestId: 'r',
        account: 'Acme',
        token: 'shop',
        receivedAt: NOON,
        status: 400,
        code: 'HC-2',
        outcome: 'refused',
        errors,
        messageId: null,
        state: null,
        connection: '+1 555',
        to: '15550100000',
        type: 'image',
        remoteAddress: '203.0.113.9',
        userAgent: 'curl/8',
        tookMs: 0.8,
        summed: null,
      },
    ])
  })

  it.each([null, '', '{"from":', 'null', '[]', '"from"', '{"from":15550001000,"to":null,"message":"text"}'])(
    'holds whatever was sent: %s',
    async (body) => {
      await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'r', body })

      const [request] = await list()
      assert.deepEqual([request?.connection, request?.to, request?.type], [null, null, null])
      assert.equal((await world.administration.findRequest('r', null)).body, body)
    },
  )

  it('knows of a repeat how the message stands that it asked for', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'again', messageId: id, receivedAt: NOON + 1 })

    const [again] = await list()

    assert.deepEqual(
      [again?.outcome, again?.status, again?.messageId, again?.state, again?.connection, again?.type],
      ['repeated', 200, id, 'FAILED', '15550001000', 'message'],
    )
    assert.deepEqual(again?.errors, [])
  })

  it('leaves out copies that a person made: no request asked for them', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    await world.administration.retryMessage(id, 'test')

    assert.deepEqual(await ids(), ['request-1'])
  })

  it('does not show what came after the reading began', async () => {
    await world.accept({ connectionId })
    const reading = world.administration.listRequests(ALL)[Symbol.asyncIterator]()
    const first = await reading.next()

    await world.accept({ connectionId })

    assert.deepEqual([(first.value as RequestView).requestId, (await reading.next()).done], ['request-1', true])
  })

  it('loses nothing over many pages and wide gaps, and keeps to the limit', async () => {
    for (let index = 0; index < 600; index += 1) {
      const at = NOON + index * 10
      await world.accept({ connectionId, acceptedAt: at })
      if (index === 300) await world.database.leaveGap()
      await logRequest(world, { accountId: acme, tokenId: shop, requestId: `r-${index}`, receivedAt: at + 5 })
    }

    const requests = await list()

    const times = requests.map(({ receivedAt }) => receivedAt)
    assert.equal(new Set(requests.map(({ requestId }) => requestId)).size, 1_200)
    assert.deepEqual(
      times,
      times.toSorted((a, b) => b - a),
    )
    assert.deepEqual(
      await ids({ limit: 300 }),
      requests.slice(0, 300).map(({ requestId }) => requestId),
    )
  })
})

describe.each(ENGINES)('the filters of the API log, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('take a status or a kind of them', async () => {
    await world.accept({ connectionId })
    for (const status of [400, 401, 429, 503])
      await logRequest(world, { accountId: acme, tokenId: shop, requestId: String(status), status })

    assert.deepEqual(await ids({ statuses: { from: 400, to: 499 } }), ['429', '401', '400'])
    assert.deepEqual(await ids({ statuses: { from: 401, to: 401 } }), ['401'])
    assert.deepEqual(await ids({ statuses: { from: 200, to: 299 } }), ['request-1'])
    assert.deepEqual(await ids({ statuses: { from: 404, to: 404 } }), [])
  })

  it('take tokens, deleted ones too', async () => {
    const other = await tokenOf(acme, 'other')
    await cameWith(world, (await world.accept({ connectionId })).sequence, shop)
    await cameWith(world, (await world.accept({ connectionId })).sequence, other)
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'refused', receivedAt: NOON + 1 })
    await world.administration.deleteToken(shop, null, 'test')

    assert.deepEqual(await ids({ tokenIds: [shop] }), ['refused', 'request-1'])
    assert.deepEqual(await ids({ tokenIds: [shop, other] }), ['refused', 'request-2', 'request-1'])
    assert.deepEqual(await ids({ tokenIds: ['tok_none' as TokenId] }), [])
    assert.deepEqual(await ids({ tokenIds: [] }), [])
  })

  it('take the sender number of all kinds of requests, known or not', async () => {
    const second = await world.connection(acme, '15550001001')
    await world.accept({ connectionId })
    const { id } = await world.accept({ connectionId: second })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'r', body: bodyFrom('15550001001') })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'again', messageId: id })
    await logRequest(world, {
      accountId: acme,
      tokenId: shop,
      requestId: 'unknown-sender',
      body: bodyFrom('15559999999'),
    })
    await world.administration.removeConnection(second, true, 'test')

    assert.deepEqual((await ids({ connection: '15550001001' })).toSorted(), ['again', 'r', 'request-2'])
    assert.deepEqual(await ids({ connection: '15559999999' }), ['unknown-sender'])
    assert.deepEqual(await ids({ connection: '15550001002' }), [])
  })

  it('G8: show an account’s requests and no other’s, whatever they have in common', async () => {
    const rival = await world.account('Rival')
    const rivals = await world.connection(rival)
    const rivalShop = await tokenOf(rival, 'shop')
    await cameWith(world, (await world.accept({ connectionId })).sequence, shop)
    const theirs = await world.accept({ connectionId: rivals })
    await cameWith(world, theirs.sequence, rivalShop)
    const body = bodyFrom('15550001000')
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'ours', body, receivedAt: NOON + 1 })
    await logRequest(world, { accountId: rival, tokenId: rivalShop, requestId: 'theirs', body, receivedAt: NOON + 1 })

    assert.deepEqual(await ids({ accountId: acme }), ['ours', 'request-1'])
    assert.deepEqual(await ids({ accountId: acme, connection: '15550001000' }), ['ours', 'request-1'])
    assert.deepEqual(await ids({ accountId: acme, tokenIds: [rivalShop] }), [])
    assert.deepEqual(await ids({ accountId: rival, tokenIds: [shop, rivalShop] }), ['theirs', 'request-2'])
    assert.equal((await ids()).length, 4)
  })
})

describe.each(ENGINES)('one request, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is found with its body as it came', async () => {
    const { id } = await world.accept({ connectionId })
    await logRequest(world, {
      accountId: acme,
      tokenId: shop,
      requestId: 'again',
      messageId: id,
      body: '{ "as":\n"sent" }',
    })
    await world.accept({ connectionId })

    const accepted = await world.administration.findRequest('request-1', acme)
    const again = await world.administration.findRequest('again', null)

    assert.deepEqual(
      [accepted.messageId, accepted.body],
      [id, (await world.all('select body from message'))[0]?.['body']],
    )
    assert.deepEqual([again.outcome, again.body], ['repeated', '{ "as":\n"sent" }'])
  })

  it.each(['none', '', 'request-', "' or 1=1"])('is refused when there is none with the id %j', async (requestId) => {
    await world.accept({ connectionId })

    await assert.rejects(world.administration.findRequest(requestId, null), { code: 'request_unknown' })
  })

  it('G8: of another account is indistinguishable from none', async () => {
    const rival = await world.account('Rival')
    await world.accept({ connectionId })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'refused' })

    for (const requestId of ['request-1', 'refused', 'none']) {
      await assert.rejects(world.administration.findRequest(requestId, rival), {
        code: 'request_unknown',
        message: `There is no request with the id ${requestId} in the API log, which keeps those that carried a known token.`,
      })
    }
  })
})
