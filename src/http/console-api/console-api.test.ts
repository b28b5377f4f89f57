import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { json } from 'node:stream/consumers'
import { beforeEach, describe, it } from 'vitest'
import { ConsoleWorld, type Visitor } from '../../../test/support/console-world/console-world.ts'
import { CONSOLE_ROUTES } from '../../contract/console/routes.ts'
import type { ConsoleProblem } from '../../contract/console/shapes.ts'
import type { AccountId } from '../../core/ids.ts'
import type { StorageError } from '../../core/ports/lanes.ts'

let world: ConsoleWorld
let account: AccountId
let owner: Visitor
let storageError: StorageError | null

beforeEach(async () => {
  world = new ConsoleWorld()
  storageError = null
  const close = await world.openConsole('SQLite', { console: { findStorageError: () => storageError } })
  account = await world.account('Acme')
  owner = await world.visitor(account)
  return close
})

const MINUTE_MS = 60_000

describe('the banner', () => {
  it('G10: says without a session why nothing can be written, without asking the database', async () => {
    const healthy = await world.ask('readStorage', {})
    await world.close()
    storageError = { since: world.now, cause: 'The disk is full.' }

    const { status, body } = await world.ask('readStorage', {})

    assert.deepEqual(healthy.body, { error: null })
    assert.deepEqual([status, body], [200, { error: { ...storageError, title: 'Disk full' } }])
  })
})

describe('authorization', () => {
  it('answers a person who is signed in and has the role', async () => {
    const { status, headers } = await world.ask('describeTokenForm', { as: owner, params: { account } })

    assert.equal(status, 200)
    assert.match(headers.get('x-request-id') ?? '', /./)
    assert.deepEqual(world.counted, ['200 console'])
  })

  it('refuses requests without a session, with one sentence and the request id', async () => {
    const { status, headers, body } = await world.ask('describeTokenForm', { params: { account } })

    const { error } = body as ConsoleProblem
    assert.deepEqual([status, error.code, error.fields], [401, 'not_signed_in', []])
    assert.equal(error.requestId, headers.get('x-request-id'))
  })

  it('refuses a foreign cookie, and one whose session has ended', async () => {
    await world.console.sessions.end(owner.personId, owner.sessionId)

    assert.equal(await world.refusal('describeTokenForm', { as: owner, params: { account } }), '401 not_signed_in')
    const invented = { ...owner, cookie: 'sid=short' }
    assert.equal(await world.refusal('describeTokenForm', { as: invented, params: { account } }), '401 not_signed_in')
  })

  it('answers alike for a foreign account and an unknown one', async () => {
    const others = await world.account('Others')
    const [foreign, unknown] = await Promise.all(
      [others, 'account-unknown'].map((id) => world.ask('describeTokenForm', { as: owner, params: { account: id } })),
    )

    assert.equal(foreign?.status, 404)
    assert.equal(withoutId(foreign), withoutId(unknown))
  })

  it('refuses a role below the required one', async () => {
    const viewer = await world.visitor(account, 'viewer')

    assert.equal(await world.refusal('createToken', { as: viewer, params: { account } }), '403 role_too_low')
  })

  it('closes an account that requires a second factor to people without one', async () => {
    await world.console.people.requireSecondFactor(account, true, 'test')

    assert.equal(
      await world.refusal('describeTokenForm', { as: owner, params: { account } }),
      '403 second_factor_required',
    )
  })

  it('requires step-up for sensitive actions only', async () => {
    world.now += 6 * MINUTE_MS

    assert.equal(await world.refusal('createToken', { as: owner, params: { account } }), '403 step_up_required')
    assert.equal(await world.refusal('exportLog', { as: owner, params: { account } }), '403 step_up_required')
    assert.equal(await world.refusal('checkExport', { as: owner, params: { account } }), '403 step_up_required')
    assert.equal((await world.ask('describeTokenForm', { as: owner, params: { account } })).status, 200)
  })
})

describe('an address', () => {
  it.each(['SQLite', 'PostgreSQL'] as const)(
    'refuses a character that no database text can hold, on %s',
    async (engine) => {
      const elsewhere = new ConsoleWorld()
      const close = await elsewhere.openConsole(engine)
      const id = await elsewhere.account('Acme')
      const as = await elsewhere.visitor(id)

      const refusals = [
        await elsewhere.refusal('readWebhook', { as, params: { account: id, id: 'whk_\0' } }),
        await elsewhere.refusal('listBlocks', { as, params: { account: id }, query: { find: '1\0' } }),
      ]

      assert.deepEqual(refusals, ['400 input_invalid', '400 input_invalid'])
      await close()
    },
  )
})

describe('a request', () => {
  const create = (headers: Record<string, string | undefined>) =>
    world.refusal('createToken', { as: owner, params: { account }, headers })
  const ADMITTED = '400 input_invalid'

  it.each([
    ['a page of ours', { 'sec-fetch-site': 'same-origin' }, ADMITTED],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }, '403 cross_site_request'],
    ['a page of a sibling', { 'sec-fetch-site': 'same-site' }, '403 cross_site_request'],
    ['the address bar', { 'sec-fetch-site': 'none' }, '403 cross_site_request'],
    ['no header', { 'sec-fetch-site': undefined }, '403 cross_site_request'],
    ['another origin', { 'sec-fetch-site': undefined, origin: 'http://evil.example' }, '403 cross_site_request'],
    ['an origin without name', { 'sec-fetch-site': undefined, origin: 'null' }, '403 cross_site_request'],
    ['the public URL', { 'sec-fetch-site': undefined, origin: 'http://127.0.0.1:8080' }, ADMITTED],
    [
      'another site that also names ours',
      { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:8080' },
      '403 cross_site_request',
    ],
  ])('is checked for its origin: %s', async (_, headers, expected) => {
    assert.equal(await create(headers), expected)
  })

  it('may have the origin of its own host over plain http', async () => {
    assert.equal(await create({ 'sec-fetch-site': undefined, origin: world.url }), ADMITTED)
  })

  it('needs no origin where nothing is changed', async () => {
    const headers = { 'sec-fetch-site': 'cross-site' }

    assert.equal((await world.ask('describeTokenForm', { as: owner, params: { account }, headers })).status, 200)
  })
})

describe('a body', () => {
  const send = async (body: string | Buffer, type = 'application/json') => {
    const response = await fetch(`${world.url}/console/api/accounts/${account}/tokens`, {
      method: 'POST',
      body: body as never,
      headers: { 'content-type': type, cookie: owner.cookie, 'sec-fetch-site': 'same-origin' },
    })
    const { error } = (await response.json()) as ConsoleProblem
    return { status: response.status, error }
  }

  it('that lacks fields is refused with all of them by name', async () => {
    const { status, error } = await send('{"name":""}')

    assert.deepEqual([status, error.code], [400, 'input_invalid'])
    assert.ok(error.fields.length > 1)
    assert.ok(error.fields.some(({ field }) => field === 'events'))
  })

  it.each(['application/json;', 'Application/JSON; charset=utf8', 'application/json;charset="UTF-8";'])(
    'that is JSON is read, however its type is written: %s',
    async (type) => {
      assert.equal((await send('{"name":""}', type)).error.code, 'input_invalid')
    },
  )

  const JSON_TYPE = 'application/json'
  const WRONG = [
    { what: 'a form', body: 'name=x', type: 'application/x-www-form-urlencoded', code: 'content_type_unsupported' },
    { what: 'plain text', body: '{}', type: 'text/plain', code: 'content_type_unsupported' },
    { what: 'in another charset', body: '{}', type: `${JSON_TYPE}; charset=utf-16`, code: 'content_type_unsupported' },
    { what: 'no JSON', body: '{', type: JSON_TYPE, code: 'body_not_json' },
    { what: 'with a repeated key', body: '{"a":1,"a":2}', type: `${JSON_TYPE}; charset=utf-8`, code: 'key_repeated' },
    { what: 'no UTF-8', body: Buffer.from([0x22, 0xff, 0x22]), type: JSON_TYPE, code: 'body_not_utf8' },
    { what: 'too large', body: `"${'x'.repeat(256 * 1024)}"`, type: JSON_TYPE, code: 'body_too_large' },
  ]

  it.each(WRONG)('that is $what is refused', async ({ body, type, code }) => {
    const { status, error } = await send(body, type)

    assert.equal(`${status} ${error.code}`, `400 ${code}`)
  })
})

describe('the body of a request that needs no session', () => {
  const OPEN = Object.values(CONSOLE_ROUTES).filter(({ access, method }) => access === 'public' && method !== 'GET')
  const JSON_TYPE = 'application/json'

  const send = async (path: string, body: string | ReadableStream) => {
    const response = await fetch(`${world.url}/console/api${path}`, {
      method: 'POST',
      body: body as never,
      headers: { 'content-type': JSON_TYPE, 'sec-fetch-site': 'same-origin' },
      ...(typeof body !== 'string' && { duplex: 'half' }),
    })
    const { error } = (await response.json()) as { readonly error?: ConsoleProblem['error'] }
    return { what: `${response.status} ${error?.code}`, message: error?.message }
  }
  const bodyOf = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`

  it.each(OPEN)('is refused when it is larger than 8 KiB: $path', async ({ path }) => {
    const { what, message } = await send(path, bodyOf(8 * 1024 + 1))

    assert.deepEqual([what, message], ['400 body_too_large', 'The body is larger than 8 KiB.'])
    assert.notEqual((await send(path, bodyOf(8 * 1024))).what, '400 body_too_large')
  })

  it('is refused as soon as too much has come, if its length is not announced', async () => {
    const piece = new TextEncoder().encode('x'.repeat(1024))
    const endless = new ReadableStream({ pull: (controller) => controller.enqueue(piece) })

    assert.equal((await send('/sign-in', endless)).what, '400 body_too_large')
  })

  it('may hold the longest valid input', async () => {
    const [name, email, password] = ['名'.repeat(80), `${'a'.repeat(252)}@x`, '名'.repeat(1024)]
    const body = JSON.stringify({ link: 'x'.repeat(100), name, email, password })

    assert.equal((await send('/links/set-up', body)).what, '409 people_exist')
  })

  it('is refused as unknown route where there is no route', async () => {
    assert.equal((await send('/nowhere', bodyOf(300 * 1024))).what, '404 console_route_unknown')
  })
})

describe('over plain http', () => {
  /** `fetch` does not allow to set the host. */
  const from = async (host: string) => {
    const { promise, resolve } = Promise.withResolvers<IncomingMessage>()
    get(`${world.url}/console/api/accounts/${account}/tokens`, { headers: { host } }, resolve)
    return ((await json(await promise)) as ConsoleProblem).error.code
  }

  it('the console is open on this machine, and closed to others', async () => {
    assert.equal(await from('localhost:8080'), 'not_signed_in')
    assert.equal(await from('192.168.1.5:8080'), 'console_needs_https')
  })
})

function withoutId(answer: { readonly text: string } | undefined): string {
  return (answer?.text ?? '').replace(/"requestId":"[^"]*"/, '')
}
