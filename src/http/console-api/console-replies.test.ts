import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { beforeEach, describe, it } from 'vitest'
import { ConsoleWorld, type Visitor } from '../../../test/support/console-world/console-world.ts'
import type { AccountId } from '../../core/ids.ts'

let world: ConsoleWorld
let account: AccountId
let owner: Visitor

beforeEach(async () => {
  world = new ConsoleWorld()
  const close = await world.openConsole('SQLite', {
    http: { limits: { requestTimeoutMs: 400, headersTimeoutMs: 400, checkIntervalMs: 50 } },
  })
  account = await world.account('Acme')
  owner = await world.visitor(account)
  return close
})

/** Writes the bytes of a request, and reads until the server ends the connection. */
function open() {
  const socket = connect({ port: Number(new URL(world.url).port), host: '127.0.0.1', allowHalfOpen: true })
  return { socket, answer: text(socket) }
}

function head(cookie: string, ...lines: readonly string[]): string {
  const usual = [
    'host: 127.0.0.1',
    'sec-fetch-site: same-origin',
    'content-type: application/json',
    `cookie: ${cookie}`,
  ]
  return [`POST /console/api/accounts/${account}/tokens HTTP/1.1`, ...usual, ...lines, '', ''].join('\r\n')
}

describe('a reply of the console', () => {
  it('is sent once, in the console’s format, when the body does not come in time', async () => {
    const { socket, answer } = open()
    socket.write(`${head(owner.cookie, 'content-length: 100')}{"name"`)

    const got = await answer

    assert.equal(got.match(/HTTP\/1\.1 /g)?.length, 1)
    assert.match(got, /^HTTP\/1\.1 408 /)
    assert.match(got, /"error":\{"code":"request_too_slow"/)
    assert.match(got, /connection: close/i)
    assert.deepEqual([world.counted, world.faults], [['408 console'], []])
  })

  it('is not written when the caller disconnects in the middle, and that is no fault', async () => {
    const { socket, answer } = open()
    socket.write(`${head(owner.cookie, 'content-length: 100')}{"name"`)
    socket.end()

    assert.match(await answer, /^HTTP\/1\.1 400 /)
    assert.deepEqual(world.faults, [])
  })

  it('sends `100 Continue` only after authorization', async () => {
    const refused = open()
    refused.socket.write(head('sid=unknown', 'content-length: 2', 'expect: 100-continue'))
    assert.match(await refused.answer, /^HTTP\/1\.1 401 /)

    const welcome = open()
    welcome.socket.write(head(owner.cookie, 'content-length: 2', 'expect: 100-continue', 'connection: close'))
    welcome.socket.once('data', () => welcome.socket.write('{}'))
    assert.match(await welcome.answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 400 /)
  })

  it('reaches a caller that sends a large unwanted body', async () => {
    const { socket, answer } = open()
    socket.write(head('sid=unknown', 'content-length: 3000000'))
    socket.end(Buffer.alloc(3_000_000, ' '))

    assert.match(await answer, /^HTTP\/1\.1 401 /)
  })

  it('ends its connection while the service stops', async () => {
    const { socket, answer } = open()
    socket.write(head(owner.cookie, 'content-length: 2', 'expect: 100-continue'))
    await new Promise((resolve) => socket.once('data', resolve))
    const stopped = world.stopServer()
    socket.write('{}')

    assert.match(await answer, /HTTP\/1\.1 400 [\s\S]*connection: close/i)
    await stopped
  })
})
