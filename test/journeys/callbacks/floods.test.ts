import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { AccountId } from '../../../src/core/ids.ts'
import type { CallbackReceiver } from '../../../src/core/ports/callbacks.ts'
import type { RawConnection, RawReply } from '../../contract/raw-http/raw-connection.ts'
import { type HeaderLines, withServer } from '../../contract/raw-http/server-under-test.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import {
  addressOf,
  type CallbackWorld,
  type CloudSender,
  openWorlds,
  sign,
  withCallbacks,
} from '../../support/callback-world/callback-world.ts'

const CHUNKED: HeaderLines = { 'x-api-key': null, 'Content-Length': null, 'Transfer-Encoding': 'chunked' }
const MEGABYTE = 1024 * 1024
const CRUMB = '1\r\n \r\n'
const ANNOUNCED_BYTES = 3_050_000
const SOON = { deadlineMs: 30_000, everyMs: 10 }

/** Begins a callback that announces a large body. Its signature has the right form and is wrong. */
async function begin({ server }: CallbackWorld, { callbackApp }: CloudSender, body: Buffer): Promise<RawConnection> {
  const connection = await server.connect()
  const headers = {
    'x-api-key': null,
    'Content-Length': String(ANNOUNCED_BYTES),
    'X-Hub-Signature-256': sign('', 'no secret of any app'),
  }
  connection.send(server.write({ target: addressOf(callbackApp), headers, body }))
  return connection
}

/** Adds another callback URL of the same account, for another app. */
function addAddress(world: CallbackWorld, sender: CloudSender): Promise<CloudSender> {
  return world.addSender({ beside: { ...sender, callbackApp: 'Z'.repeat(22), appSecret: 'that of another app' } })
}

/** A batch of 20 KB. It does not fit when another sender has filled nearly all room. */
function batch(world: CallbackWorld, sender: CloudSender): string {
  return world.body(sender, ...Array.from({ length: 150 }, (_, i) => ({ id: `wamid.other-${i}`, status: 'sent' })))
}

describe.each(openWorlds())('callbacks that are sent to overload the service, on %s', (_, newWorld) => {
  it('leave room for other accounts when many bodies are announced and none is sent, to each URL of an account', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [one, victim] = [await world.addSender(), await world.addSender()]
      const addresses = [one, await addAddress(world, one)]
      const begun = addresses.flatMap((address) =>
        Array.from({ length: 11 }, () => begin(world, address, Buffer.from('{"'))),
      )
      await Promise.all(begun)

      const honest = await world.post(victim, batch(world, victim))
      const own = await world.post(one, batch(world, one))

      assert.deepEqual([honest?.status, own?.status], [200, 200])
    })
  })

  it('leave room for other accounts, and for small ones of their own, when most of each body is sent', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [one, victim] = [await world.addSender(), await world.addSender()]
      const addresses = [one, await addAddress(world, one)]
      const nearlyAll = Buffer.alloc(ANNOUNCED_BYTES - 1, 0x20)
      const begun = await Promise.all(
        addresses.flatMap((address) => Array.from({ length: 11 }, () => begin(world, address, nearlyAll))),
      )
      // An account has room for two of them. On a slow machine the limit for stalled bodies may end some before that.
      const replies: (RawReply | null)[] = []
      for (const connection of begun) void connection.nextReply().then((reply) => replies.push(reply))
      const isFull = await waitUntil('all but two are answered', async () => replies.length >= begun.length - 2, SOON)

      const honest = await world.post(victim, batch(world, victim))
      const own = await world.post(one, batch(world, one))
      for (const connection of begun) connection.close()
      const late = await waitUntil(
        'there is room again',
        async () => (await world.post(one, Buffer.alloc(3 * MEGABYTE, 0x20)))?.status === 400,
        SOON,
      )

      assert.equal(isFull, true)
      assert.equal(replies.find((reply) => reply?.status === 503)?.headers['retry-after'], '5')
      assert.deepEqual([honest?.status, own?.status, late], [200, 200, true])
    })
  })

  it('are ended with 408 when they stall, at whatever byte', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const little = await begin(world, sender, Buffer.from('{"'))
      const much = await begin(world, sender, Buffer.alloc(MEGABYTE, 0x20))

      const replies = await Promise.all([little.nextReply(), much.nextReply()])

      assert.deepEqual(
        replies.map((reply) => reply?.status),
        [408, 408],
      )
    })
  })

  it('are refused as soon as they prove to be cut into tiny chunks', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const connection = await world.server.connect()
      const headers = { ...CHUNKED, 'X-Hub-Signature-256': sign('', sender.appSecret) }

      connection.send(world.server.write({ target: addressOf(sender.callbackApp), headers, body: '' }))
      connection.send(CRUMB.repeat(2_000))
      const reply = await connection.nextReply()

      assert.deepEqual([reply?.status, reply?.text], [413, 'the body comes in more pieces than any network sends'])
    })
  })

  it('are accepted in pieces as networks send them', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const body = Buffer.alloc(3 * MEGABYTE, 0x20)
      const connection = await world.server.connect()
      const headers = { ...CHUNKED, 'X-Hub-Signature-256': sign(body, sender.appSecret) }

      connection.send(world.server.write({ target: addressOf(sender.callbackApp), headers, body: '' }))
      connection.send(`200\r\n${' '.repeat(512)}\r\n`.repeat(body.length / 512))
      connection.send('0\r\n\r\n')
      const reply = await connection.nextReply()

      // The body is read to its end and its signature is right. Only then it proves to be no JSON.
      assert.equal(reply?.status, 400)
    })
  })
})

describe('a body of three million tiny chunks', () => {
  it.each([
    ['of a callback', '/channels/stub/app'],
    ['to an address that is none', '/channels/stub/none/at/all'],
  ])('%s is not read to its end, neither before the reply nor after it', async (_, target) => {
    const receiver: CallbackReceiver = {
      channel: 'stub',
      maxBodyBytes: 3 * MEGABYTE,
      checkHead: async () => ({ refusal: null, owner: 'account' as AccountId }),
      receive: async () => ({ status: 200, body: '' }),
    }
    await withServer({ callbacks: [receiver], limits: { lingerMs: 8_000 } }, async (server) => {
      const crumbs = Buffer.from(CRUMB.repeat(3_000_000))
      const connection = await server.connect()
      const before = process.cpuUsage()
      const residentBytes = process.memoryUsage().rss

      connection.send(server.write({ target, headers: CHUNKED, body: '' }))
      connection.send(crumbs)
      await connection.untilClosed()
      const { user } = process.cpuUsage(before)
      const grownBytes = process.memoryUsage().rss - residentBytes

      // Reading all of it took 4 s and 1.4 GB.
      assert.ok(user < 1_000_000, `it took ${user / 1000} ms`)
      assert.ok(grownBytes < 200 * MEGABYTE, `it took ${Math.round(grownBytes / MEGABYTE)} MB`)
    })
  })
})
