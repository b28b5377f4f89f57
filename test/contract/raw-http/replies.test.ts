import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { parseAddressRange } from '../../../src/core/media-address/ip-address.ts'
import type { AcceptResult } from '../../../src/core/ports/intake.ts'
import { problem } from '../../../src/http/server/problem.ts'
import { codesOf, envelopeOf, type RawReply } from './raw-connection.ts'
import { GOOD_BODY, type ServerUnderTest, withServer } from './server-under-test.ts'
import { ACCOUNT, FROM } from './stub-intake.ts'

const SUCCESS =
  '{"success":true,"code":"HC-1","name":"success_200","data":{"state":"QUEUED"},"message":"Request was successful."}'

function replyFacts(reply: RawReply | null) {
  const { code, name, success, data } = envelopeOf(reply)
  return { status: reply?.status, success, code, name, errors: data.errors?.map((error) => [error.field, error.code]) }
}

describe('a success', () => {
  it('has the body of the contract, byte for byte, with the ids in headers', async () => {
    await withServer({}, async (server) => {
      const reply = await server.ask()

      assert.equal(reply?.status, 200)
      assert.equal(reply?.text, SUCCESS)
      assert.equal(reply?.headers['content-type'], 'application/json; charset=utf-8')
      assert.equal(reply?.headers['x-message-id'], 'message-1')
      assert.match(reply?.headers['x-request-id'] ?? '', /^[0-9a-z]{8}-[0-9a-z]+$/)
      assert.deepEqual(server.counted, ['200 accepted'])
    })
  })

  it('passes to storage what was sent and where it came from', async () => {
    await withServer({}, async (server) => {
      const reply = await server.ask({ headers: { 'User-Agent': 'a'.repeat(300), 'X-Forwarded-For': '8.8.8.8' } })

      const { facts, ...candidate } = server.intake.accepted[0]!
      assert.deepEqual(candidate, {
        tokenId: 'token-1',
        accountId: ACCOUNT,
        from: FROM,
        to: '14155550123',
        content: { type: 'message', text: 'Hello' },
        body: GOOD_BODY,
        idempotency: null,
      })
      assert.equal(facts.requestId, reply?.headers['x-request-id'])
      assert.equal(facts.remoteAddress, '127.0.0.1')
      assert.equal(facts.userAgent, 'a'.repeat(256))
    })
  })

  it('believes forwarded addresses of trusted proxies only', async () => {
    await withServer(
      { trustedProxies: ['127.0.0.0/8', '10.0.0.0/8'].map((range) => parseAddressRange(range)!) },
      async (server) => {
        await server.ask({ headers: { 'X-Forwarded-For': '1.1.1.1, 203.0.113.7, 10.0.0.2' } })

        assert.equal(server.intake.accepted[0]?.facts.remoteAddress, '203.0.113.7')
      },
    )
  })
})

describe('a refusal', () => {
  const DAY_MS = 86_400_000

  it.each<[string, (server: ServerUnderTest) => Promise<RawReply | null>, object]>([
    [
      'no token',
      (server) => server.ask({ headers: { 'x-api-key': null } }),
      { status: 401, code: 'HC-3', name: 'unauthorized_401', errors: [['x-api-key', 'unauthorized']] },
    ],
    [
      'no event',
      (server) => server.ask({ headers: { 'x-api-key': server.intake.addToken({ events: [] }) } }),
      { status: 403, code: 'HC-4', name: 'access_denied_403', errors: [[null, 'event_missing']] },
    ],
    [
      'another address',
      (server) => server.ask({ headers: { 'x-api-key': server.intake.addToken({ sourceRanges: ['10.0.0.0/8'] }) } }),
      { status: 403, code: 'HC-4', name: 'access_denied_403', errors: [[null, 'source_not_allowed']] },
    ],
    [
      'another connection',
      (server) => server.ask({ headers: { 'x-api-key': server.intake.addToken({ connectionIds: [] }) } }),
      { status: 403, code: 'HC-4', name: 'access_denied_403', errors: [['from', 'connection_not_allowed']] },
    ],
    [
      'no such connection',
      (server) => server.ask({ body: GOOD_BODY.replace(FROM, '14155550999') }),
      { status: 404, code: 'HC-5', name: 'connection_not_found_404', errors: [['from', 'connection_not_found']] },
    ],
    [
      'no such path',
      (server) => server.ask({ target: '/chat/api/v1/messages' }),
      { status: 404, code: 'HC-6', name: 'route_not_found_404', errors: [[null, 'route_not_found']] },
    ],
    [
      'a full account',
      (server) => server.fill(ACCOUNT).ask(),
      { status: 429, code: 'HC-7', name: 'too_many_requests_429', errors: [[null, 'account_backlog_full']] },
    ],
    [
      'a full connection',
      (server) => server.fill(FROM).ask(),
      { status: 429, code: 'HC-7', name: 'too_many_requests_429', errors: [[null, 'connection_backlog_full']] },
    ],
    [
      'shutting down',
      (server) => server.stopAccepting().ask(),
      { status: 503, code: 'HC-9', name: 'unavailable_503', errors: [[null, 'shutting_down']] },
    ],
  ])('for %s has the one shape', async (_, ask, expected) => {
    await withServer({}, async (server) => {
      const reply = await ask(server)

      assert.deepEqual(replyFacts(reply), { success: false, ...expected })
      assert.deepEqual(Object.keys(envelopeOf(reply)), ['success', 'code', 'name', 'data', 'message'])
      assert.ok(envelopeOf(reply).data.errors?.every(({ message }) => message.length > 20))
      assert.ok(reply?.headers['x-request-id'])
      assert.equal(reply?.headers['x-message-id'], undefined)
      assert.equal(reply?.headers['retry-after'] !== undefined, reply?.status === 429 || reply?.status === 503)
      assert.equal(server.intake.accepted.length, 0)
    })
  })

  it.each<[AcceptResult, number, string]>([
    [{ kind: 'refused', code: 'unauthorized' }, 401, 'HC-3'],
    [{ kind: 'refused', code: 'event_missing' }, 403, 'HC-4'],
    [{ kind: 'refused', code: 'connection_not_allowed' }, 403, 'HC-4'],
    [{ kind: 'refused', code: 'connection_not_found' }, 404, 'HC-5'],
    [{ kind: 'refused', code: 'idempotency_key_reused' }, 400, 'HC-2'],
    [{ kind: 'refused', code: 'type_unsupported_by_channel' }, 400, 'HC-2'],
  ])('by storage is logged and answered: %j', async (result, status, code) => {
    await withServer({}, async (server) => {
      server.intake.answer = () => result

      const reply = await server.ask()

      assert.deepEqual([reply?.status, envelopeOf(reply).code], [status, code])
      assert.deepEqual(codesOf(reply), [result.kind === 'refused' ? result.code : null])
      assert.equal(server.intake.refused.length, 1)
    })
  })

  it.each<['not_accepted' | 'commit_unknown']>([['not_accepted'], ['commit_unknown']])(
    'because storage cannot commit says whether it is safe to send again: %s',
    async (code) => {
      await withServer({}, async (server) => {
        server.intake.answer = () => ({ kind: 'unavailable', code })

        const reply = await server.ask()

        assert.equal(reply?.status, 503)
        assert.deepEqual(codesOf(reply), [code])
        assert.equal(reply?.headers['retry-after'], '5')
        assert.equal(server.intake.refused.length, 0)
      })
    },
  )

  it('also comes if storage never answers, and a late answer of storage changes nothing', async () => {
    await withServer({ limits: { storageWaitMs: 100 } }, async (server) => {
      const held = server.intake.hold()

      const reply = await server.ask()
      held.release({ kind: 'refused', code: 'connection_not_found' })
      server.intake.answer = null

      assert.equal(reply?.status, 503)
      assert.deepEqual(codesOf(reply), ['commit_unknown'])
      assert.equal((await server.ask())?.status, 200)
      assert.equal(server.intake.refused.length, 0)
    })
  })

  it('is the same for every invalid token', async () => {
    await withServer({}, async (server) => {
      const { intake } = server
      const good = intake.addToken()
      const tokens: readonly (string | readonly string[] | null)[] = [
        null,
        '',
        'nco_',
        'nco_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
        good.slice(0, -1) + (good.endsWith('0') ? '1' : '0'),
        intake.addToken({ expiresAt: Date.now() - 1 }),
        intake.addToken({ deletedAt: Date.now() - DAY_MS }),
        [good, good],
        `${good}, ${good}`,
        `Bearer ${good}`,
        good.toUpperCase(),
        'x'.repeat(6000),
      ]

      const replies = []
      for (const token of tokens) replies.push(await server.ask({ headers: { 'x-api-key': token } }))

      assert.deepEqual(new Set(replies.map((reply) => reply?.status)), new Set([401]))
      assert.equal(new Set(replies.map((reply) => reply?.text)).size, 1)
    })
  })

  it('of a token that cannot exist costs no look-up', async () => {
    await withServer({}, async (server) => {
      for (const token of ['', 'nco_x', `nco_${'a'.repeat(38)}`]) await server.ask({ headers: { 'x-api-key': token } })

      assert.equal(server.intake.lookUps, 0)
    })
  })

  it('of a known token is in the API log before it is answered, with the body if it was read', async () => {
    await withServer({}, async (server) => {
      const expired = server.intake.addToken({ expiresAt: 0 })
      const body = GOOD_BODY.replace('"Hello"', '""')

      await server.ask({ headers: { 'x-api-key': expired } })
      const reply = await server.ask({ body })
      await server.ask({ body: Buffer.from([0xff]) })
      await server.ask({ headers: { 'x-api-key': 'unknown' } })

      assert.deepEqual(
        server.intake.refused.map(({ tokenId, status, code, body: kept }) => ({ tokenId, status, code, kept })),
        [
          { tokenId: 'token-2', status: 401, code: 'HC-3', kept: null },
          { tokenId: 'token-1', status: 400, code: 'HC-2', kept: body },
          { tokenId: 'token-1', status: 400, code: 'HC-2', kept: null },
        ],
      )
      assert.deepEqual(JSON.parse(server.intake.refused[1]!.errors), envelopeOf(reply).data.errors)
      assert.deepEqual(server.counted, ['401 unauthorized', '400 text_empty', '400 body_not_utf8', '401 unauthorized'])
    })
  })
})

describe('a refusal of an account with too many refusals', () => {
  it('G11: has the same reply, waits for nothing, and is aggregated in the API log', async () => {
    // The limit is too small for a single entry.
    await withServer({ refusedLogBytesPerHour: 1 }, async (server) => {
      server.intake.logRefused = () => new Promise(() => {})

      const replies = [await server.ask({ body: '{}' }), await server.ask({ body: '{}' })]
      const other = await server.ask({ headers: { 'Content-Type': 'text/plain' } })
      const accepted = await server.ask()
      await server.stop()

      const errors = [
        ['from', 'field_required'],
        ['to', 'field_required'],
        ['message', 'field_required'],
      ]
      const facts = { status: 400, success: false, code: 'HC-2', name: 'bad_request_400', errors }
      assert.deepEqual(replies.map(replyFacts), [facts, facts])
      assert.deepEqual([other?.status, accepted?.status, server.notLogged], [400, 200, 0])
      assert.deepEqual(
        server.intake.summed.map(({ tokenId, status, requests, errors }) => [tokenId, status, requests, errors]),
        [
          ['token-1', 400, 2, JSON.stringify([problem('field_required')])],
          ['token-1', 400, 1, JSON.stringify([problem('content_type_unsupported')])],
        ],
      )
      assert.deepEqual(server.counted.slice(0, 2), ['400 field_required', '400 field_required'])
    })
  })

  it('is counted in the metrics if storage accepts no aggregates until the end', async () => {
    await withServer({ refusedLogBytesPerHour: 1 }, async (server) => {
      server.intake.canLog = false
      await server.ask({ body: '{}' })
      await server.ask({ body: '{}' })
      await server.stop()

      assert.equal(server.notLogged, 2)
    })
  })
})

describe('a fault', () => {
  it.each<[string, (server: ServerUnderTest) => void]>([
    ['when a token is looked up', ({ intake }) => (intake.findToken = fail)],
    ['when limits are looked up', ({ intake }) => (intake.isBacklogFull = fail)],
    ['when the message is handed over', ({ intake }) => (intake.accept = fail)],
    ['while it is being stored', ({ intake }) => (intake.answer = fail)],
  ])('%s is answered with the request id and nothing of itself, and logged once', async (_, breakIt) => {
    await withServer({}, async (server) => {
      breakIt(server)

      const reply = await server.ask()

      assert.equal(reply?.status, 500)
      const { code, name, data } = envelopeOf(reply)
      assert.deepEqual([code, name], ['HC-8', 'internal_error_500'])
      assert.equal(data.errors?.[0]?.code, 'internal_error')
      assert.match(reply?.text ?? '', new RegExp(reply?.headers['x-request-id'] ?? 'missing'))
      assert.doesNotMatch(reply?.text ?? '', /secret|table|Error/)
      assert.equal(server.faults.length, 1)
    })
  })

  function fail(): never {
    throw new Error('no such table: secret')
  }
})

describe('an idempotency key', () => {
  const headers = { 'Idempotency-Key': 'order-4711' }

  it('gives a repeat the answer of the first time, and queues nothing', async () => {
    await withServer({}, async (server) => {
      const first = await server.ask({ headers })
      const sameFields = JSON.parse(GOOD_BODY)
      const repeat = await server.ask({ headers, body: JSON.stringify({ other: 1, ...sameFields }, null, 2) })

      assert.equal(repeat?.status, 200)
      assert.equal(repeat?.text, SUCCESS)
      assert.equal(repeat?.headers['x-message-id'], first?.headers['x-message-id'])
      assert.equal(server.intake.accepted.length, 1)
      assert.deepEqual(server.counted, ['200 accepted', '200 replayed'])
    })
  })

  it('is refused for another message', async () => {
    await withServer({}, async (server) => {
      await server.ask({ headers })
      const other = await server.ask({ headers, body: GOOD_BODY.replace('Hello', 'Bye') })

      assert.equal(other?.status, 400)
      assert.deepEqual(replyFacts(other).errors, [['idempotency-key', 'idempotency_key_reused']])
    })
  })

  it('is answered before the limits, and after the connection was removed', async () => {
    await withServer({ acceptRatePerAccount: 1 }, async (server) => {
      await server.ask({ headers })
      server.intake.full.add(ACCOUNT).add(FROM)
      server.intake.connections.clear()

      const repeats = [await server.ask({ headers }), await server.ask({ headers })]
      const other = await server.ask()

      assert.deepEqual(
        repeats.map((reply) => reply?.status),
        [200, 200],
      )
      assert.equal(other?.status, 429)
    })
  })

  it.each([
    ['QUEUED', 'QUEUED'],
    ['SENDING', 'QUEUED'],
    ['PUBLISHED', 'PUBLISHED'],
    ['DELIVERED', 'PUBLISHED'],
    ['READ', 'PUBLISHED'],
    ['FAILED', 'QUEUED'],
    ['UNCONFIRMED', 'QUEUED'],
    ['EXPIRED', 'QUEUED'],
    ['CANCELLED', 'QUEUED'],
  ] as const)('of a message that is %s says %s', async (state, reported) => {
    await withServer({}, async (server) => {
      await server.ask({ headers })
      server.intake.stateOfMessages = state

      assert.equal(envelopeOf(await server.ask({ headers })).data.state, reported)
    })
  })
})

describe('the rate of an account', () => {
  it('is limited, and a refusal has the time to wait', async () => {
    await withServer({ acceptRatePerAccount: 2 }, async (server) => {
      const replies = [await server.ask(), await server.ask(), await server.ask()]

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [200, 200, 429],
      )
      assert.deepEqual(codesOf(replies[2]!), ['rate_exceeded'])
      assert.equal(replies[2]?.headers['retry-after'], '1')
    })
  })
})
