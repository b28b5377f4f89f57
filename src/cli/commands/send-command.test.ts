import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'

let world: CliWorld

beforeEach(async () => {
  world = new CliWorld()
  await world.open('SQLite')
  world.answer = () => Response.json(ACCEPTED, { headers: { 'x-request-id': 'r-1', 'x-message-id': 'm-1' } })
})

const ACCEPTED = {
  success: true,
  code: 'HC-1',
  name: 'success_200',
  data: { state: 'QUEUED' },
  message: 'Request was successful.',
}
const SEND = ['send', '--from', '15550001000', '--to', '15550100000', '--token', 'nco_x']

function body(): unknown {
  return JSON.parse(world.asked[0]?.request.body as string)
}

describe('send', () => {
  it('asks the endpoint as any caller does', async () => {
    const { code, stdout } = await world.cli(...SEND, '--text', 'Hello', '--idempotency-key', 'k-1')

    assert.equal(code, 0)
    assert.equal(world.asked[0]?.url, 'http://127.0.0.1:8080/chat/api/v1/public/message/send')
    assert.deepEqual(world.asked[0]?.request.headers, {
      'content-type': 'application/json',
      'x-api-key': 'nco_x',
      'idempotency-key': 'k-1',
      'user-agent': 'nuncio (command line)',
    })
    assert.deepEqual(body(), { from: '15550001000', to: '15550100000', message: { type: 'message', message: 'Hello' } })
    assert.match(stdout, /^\{"success":true.*\nAccepted as the message m-1\./)
  })

  it('gives programs the status, the ids and the whole reply', async () => {
    const answer = await world.json(...SEND, '--text', 'Hello')

    assert.deepEqual(answer, { status: 200, requestId: 'r-1', messageId: 'm-1', reply: ACCEPTED })
  })

  it('sends media under the name in its address, or under another one', async () => {
    await world.cli(...SEND, '--image', 'https://files.example/a/my%20cat.jpg?sig=1', '--caption', 'Our cat')
    const first = body()
    world.asked = []
    await world.cli(...SEND, '--document', 'https://files.example/', '--name', 'bill.pdf')

    assert.deepEqual((first as { message: unknown }).message, {
      type: 'image',
      media: { name: 'my cat.jpg', url: 'https://files.example/a/my%20cat.jpg?sig=1', caption: 'Our cat' },
    })
    assert.deepEqual((body() as { message: unknown }).message, {
      type: 'document',
      media: { name: 'bill.pdf', url: 'https://files.example/' },
    })
  })

  it('takes token and address from the settings', async () => {
    world.environment = { NUNCIO_TOKEN: 'nco_env', NUNCIO_PUBLIC_URL: 'https://nuncio.example/' }
    await world.cli('send', '--from', '1', '--to', '2', '--text', 'x')

    assert.match(world.asked[0]?.url ?? '', /^https:\/\/nuncio\.example\/chat\//)
    assert.equal(new Headers(world.asked[0]?.request.headers).get('x-api-key'), 'nco_env')
  })

  it('prints what the service refuses, field by field, and ends with 1', async () => {
    const errors = [{ field: 'to', code: 'number_malformed', message: 'Write it plain.' }]
    world.answer = () => Response.json({ success: false, data: { errors }, message: 'Bad Request' }, { status: 400 })

    const { code, stdout, stderr } = await world.cli(...SEND, '--text', 'x')

    assert.deepEqual([code, stderr], [1, 'nuncio: to: Write it plain. (number_malformed)\n'])
    assert.match(stdout, /^\{"success":false/)
    assert.equal((await world.cli(...SEND, '--text', 'x', '--json')).code, 1)
  })

  it('survives an answer of something else than Nuncio', async () => {
    world.answer = () => new Response('<html>\u001b[2J', { status: 502 })

    const { code, stdout, stderr } = await world.cli(...SEND, '--text', 'x')

    assert.deepEqual([code, stdout, stderr], [1, '<html>\\u001b[2J\n', 'nuncio: The service answered 502.\n'])
  })

  it.each([
    [
      new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'ECONNREFUSED' }) }),
      /does not answer at http:\/\/127\.0\.0\.1:8080 \(ECONNREFUSED\)/,
    ],
    [
      new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }) }),
      /certificate of the service .* is not one that is trusted here .*NODE_EXTRA_CA_CERTS/,
    ],
    [new DOMException('late', 'TimeoutError'), /did not answer within 30 seconds, so it is not known/],
  ])('says so when no answer comes: %s', async (error, words) => {
    world.answer = () => {
      throw error
    }

    const { code, stderr } = await world.cli(...SEND, '--text', 'x')

    assert.equal(code, 1)
    assert.match(stderr, words)
    assert.match(stderr, /service_unreachable/)
  })

  it.each([
    [[...SEND]],
    [[...SEND, '--text', 'x', '--image', 'https://a.example/a.jpg']],
    [[...SEND, '--text', 'x', '--caption', 'y']],
    [[...SEND, '--image', 'https://a.example/']],
    [[...SEND, '--text', 'x', '--url', 'ftp://a.example']],
    [[...SEND, '--text', 'x', '--url', 'https://a.example/nuncio?a=b']],
    [[...SEND, '--text', 'x', '--idempotency-key', 'schlüssel']],
    [['send', '--from', '1', '--to', '2', '--text', 'x']],
  ])('is used wrongly as %j', async (args) => {
    const { code, stderr } = await world.cli(...args)

    assert.equal(code, 2)
    assert.match(stderr, /\(argument_invalid\)\n$/)
    assert.deepEqual(world.asked, [])
  })
})
