import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { HeaderLines } from '../../contract/raw-http/server-under-test.ts'
import { addressOf, openWorlds, sign, status, withCallbacks } from '../../support/callback-world/callback-world.ts'

const JSON_HEADERS: HeaderLines = { 'x-api-key': null }
const MEGABYTE = 1024 * 1024

describe.each(openWorlds())('forged and malformed callbacks, on %s', (_, newWorld) => {
  it('are refused without the signature of the app, and change nothing', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [sender, stranger] = [await world.addSender(), await world.addSender()]
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)
      const body = world.body(sender, status('read', id, 'wamid.A'))
      const spelledAnew = JSON.stringify(JSON.parse(body), null, 1)
      const right = sign(body, sender.appSecret)
      const forged: [string, string | readonly string[] | null][] = [
        [body, null],
        [body, ''],
        [body, 'sha256='],
        [body, sign(body, stranger.appSecret)],
        [body, sign(body, '')],
        [body, right.slice(0, -2)],
        [body, right.replace('sha256=', 'sha1=')],
        [body, `${right}, ${right}`],
        [body, [right, right]],
        [spelledAnew, right],
        [body.replace('"read"', '"sent"'), right],
        ['', right],
      ]

      const statuses: (number | undefined)[] = []
      for (const [given, signature] of forged) {
        const reply = await world.post(sender, given, { 'X-Hub-Signature-256': signature })
        statuses.push(reply?.status)
      }
      const stored = await world.waiting()
      const honest = await world.post(sender, body)
      await world.applied()

      assert.deepEqual(statuses, Array(forged.length).fill(401))
      assert.deepEqual(stored, [])
      assert.deepEqual([honest?.status, await world.stateOf(id)], [200, 'READ'])
    })
  })

  it('G8: cannot reach the messages, numbers and windows of another account', async () => {
    await withCallbacks(newWorld, async (world) => {
      const [victim, attacker] = [await world.addSender(), await world.addSender()]
      const published = await world.publish(victim, 'wamid.A')
      const open = await world.open(victim)
      await world.windows.close(victim.connectionId, '15550100000', world.storage.clock.now())
      world.applier.start(world.events)
      const ids = [published, open]
      const named = ids.map((id) => status('failed', id, 'wamid.A'))

      // First under its own number, but about our message. Then under our number, which does not belong to that URL.
      await world.tell(attacker, ...named, { id: 'wamid.A', status: 'failed' })
      const foreign = await world.post(attacker, world.body(victim, ...named, { id: 'wamid.A', status: 'failed' }))
      const value = {
        metadata: { phone_number_id: victim.phoneNumberId },
        messages: [{ from: '15550100000', timestamp: String(Date.now() / 1000), type: 'text' }],
      }
      const update = { display_phone_number: victim.number, event: 'FLAGGED', current_limit: 'TIER_50' }
      const changes = [
        { field: 'messages', value },
        { field: 'phone_number_quality_update', value: update },
        { field: 'account_update', value: { event: 'DISABLED_UPDATE' } },
      ]
      const entry = [{ id: victim.businessAccountId, changes }]
      const others = await world.post(attacker, JSON.stringify({ object: 'whatsapp_business_account', entry }))
      // The failure without our mark may belong to a call that is not recorded yet, so it is kept for a while.
      await world.applied(1)

      assert.deepEqual([foreign?.status, others?.status], [200, 200])
      assert.deepEqual([await world.stateOf(published), await world.stateOf(open)], ['PUBLISHED', 'SENDING'])
      const question = { ...victim, messageId: open, to: '15550100000', attemptNumber: 1 }
      assert.equal((await world.applier.findEcho(question)).kind, 'nothing-yet')
      assert.equal(await world.windows.isClosed(victim.connectionId, '15550100000', world.storage.clock.now()), true)
      assert.equal((await world.numbers.read(victim.connectionId)).isFlagged, false)
      assert.equal((await world.numbers.read(victim.connectionId)).accountEvent, null)
    })
  })

  it('change nothing when they are replayed', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      world.applier.start(world.events)
      const delivered = world.body(sender, status('delivered', id, 'wamid.A'))
      const read = world.body(sender, status('read', id, 'wamid.A'))
      for (const body of [delivered, read]) await world.post(sender, body)
      await world.applied()

      for (let i = 0; i < 5; i++) {
        assert.equal((await world.post(sender, delivered))?.status, 200)
        await world.storage.clock.pass(3_600_000)
        await world.applied()
      }

      assert.equal(await world.stateOf(id), 'READ')
      assert.deepEqual(await world.reportsOf(id), ['receipt-delivered', 'receipt-read'])
    })
  })

  it('are stored once while an equal one waits to be applied', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      const body = world.body(sender, status('delivered', id, 'wamid.A'))

      await Promise.all(Array.from({ length: 10 }, () => world.post(sender, body)))

      assert.equal((await world.waiting()).length, 1)
    })
  })

  it('are not read at an unknown URL', async () => {
    await withCallbacks(newWorld, async (world) => {
      const { appSecret } = await world.addSender()
      const addresses = ['Z'.repeat(22), 'x', 'a'.repeat(64), '%00%00%00%00%00%00%00%00', '__proto__', 'constructor']
      const body = 'x'.repeat(2 * MEGABYTE)

      const statuses: (number | undefined)[] = []
      for (const callbackApp of addresses) statuses.push((await world.post({ callbackApp, appSecret }, body))?.status)
      const connection = await world.server.connect()
      const announced = { ...JSON_HEADERS, 'Content-Length': '3000000', 'X-Hub-Signature-256': sign('', 'secret') }
      connection.send(world.server.write({ target: addressOf('Z'.repeat(22)), headers: announced, body: '' }))
      const early = await connection.nextReply()

      assert.deepEqual([...statuses, early?.status], Array(addresses.length + 1).fill(404))
    })
  })

  it('are refused if they are larger than Meta sends any, chunked ones too', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const body = Buffer.alloc(3 * MEGABYTE + 1, 0x20)
      const signature = sign(body, sender.appSecret)

      const whole = await world.post(sender, body)
      const connection = await world.server.connect()
      const headers = { ...JSON_HEADERS, 'Content-Length': null, 'Transfer-Encoding': 'chunked' }
      const target = addressOf(sender.callbackApp)
      const facts = { target, headers: { ...headers, 'X-Hub-Signature-256': signature }, body: '' }
      connection.send(world.server.write(facts))
      connection.send(`${body.length.toString(16)}\r\n`)
      connection.send(body)
      const chunked = await connection.nextReply()

      assert.deepEqual([whole?.status, chunked?.status], [413, 413])
    })
  })

  it('are accepted in chunks, and byte by byte', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      const body = world.body(sender, status('read', id, 'wamid.A'))
      const connection = await world.server.connect()
      const signed = { 'X-Hub-Signature-256': sign(body, sender.appSecret) }
      const headers = { ...JSON_HEADERS, 'Content-Length': null, 'Transfer-Encoding': 'chunked', ...signed }

      connection.send(world.server.write({ target: addressOf(sender.callbackApp), headers, body: '' }))
      for (const byte of body) connection.send(`1\r\n${byte}\r\n`)
      connection.send('0\r\n\r\n')
      const reply = await connection.nextReply()

      assert.deepEqual([reply?.status, (await world.waiting()).length], [200, 1])
    })
  })

  it('are answered with 200 if they are signed but unknown to us, so that Meta does not repeat them for a week', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const entry = (changes: unknown) => ({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] })
      const messages = (value: unknown) => entry([{ field: 'messages', value }])
      const metadata = { phone_number_id: sender.phoneNumberId }
      const bodies: unknown[] = [
        null,
        [],
        1e300,
        'text',
        {},
        { object: 'page', entry: [] },
        { object: 'whatsapp_business_account', entry: 'none' },
        { object: 'whatsapp_business_account', entry: [null, 1, [], {}] },
        entry({}),
        entry([null, { field: 'messages' }, { field: 7, value: {} }, { field: '__proto__', value: {} }]),
        messages({ metadata: { phone_number_id: '0' }, statuses: [{ id: 'wamid.A', status: 'read' }] }),
        messages({ metadata: { phone_number_id: { toString: 1 } }, statuses: [{}] }),
        messages({ metadata, statuses: {} }),
        messages({ metadata, statuses: [null, 1, 'read', [], {}, { status: 'read' }, { id: 'wamid.A' }] }),
        messages({
          metadata,
          statuses: [
            { id: 'wamid.A', status: 'constructor' },
            { id: 7, status: 'read' },
          ],
        }),
        messages({ metadata, statuses: [{ id: 'wamid.\u0000', status: 'read' }] }),
        messages({ metadata, statuses: [{ id: 'w'.repeat(300), status: 'read' }] }),
        messages({ metadata, statuses: [{ id: 'wamid.A', status: 'read', biz_opaque_callback_data: 'another’s' }] }),
        messages({ metadata, statuses: [{ id: 'wamid.A', status: 'read', biz_opaque_callback_data: { a: 1 } }] }),
        messages({ metadata, messages: [{ from: 'US.1349', timestamp: '1' }, { from: '../..' }, null] }),
      ]

      const statuses: (number | undefined)[] = []
      for (const body of bodies) statuses.push((await world.post(sender, JSON.stringify(body)))?.status)
      const proto =
        '{"object":"whatsapp_business_account","__proto__":{"entry":[]},"entry":[{"__proto__":{"changes":1}}]}'
      statuses.push((await world.post(sender, proto))?.status)

      assert.deepEqual(statuses, Array(bodies.length + 1).fill(200))
      assert.deepEqual(await world.waiting(), [])
      assert.deepEqual(new Set(world.noted('callback.received')), new Set(['nothing-of-ours']))
      assert.deepEqual(world.server.faults, [])
    })
  })

  it('are refused if they are signed but are not JSON', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()

      const statuses: (number | undefined)[] = []
      for (const body of ['', '{', 'a=b', Buffer.from([0xff, 0xfe]), '{}{}'])
        statuses.push((await world.post(sender, body))?.status)

      assert.deepEqual(statuses, Array(5).fill(400))
    })
  })

  it('do not keep the service busy by their nesting or their number', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const id = await world.publish(sender, 'wamid.A')
      const deep = `${'['.repeat(1_500_000)}${']'.repeat(1_500_000)}`
      const inside = world.body(sender, { ...status('read', id, 'wamid.A'), pricing: 'DEEP' })
      const hidden = inside.replace('"DEEP"', `${'['.repeat(100_000)}${']'.repeat(100_000)}`)
      const many = `{"object":"whatsapp_business_account","entry":[${'{},'.repeat(900_000)}{}]}`

      const quoted = inside.replace('DEEP', '[{'.repeat(100_000))
      const before = process.cpuUsage()

      const statuses: (number | undefined)[] = []
      for (const body of [deep, many, hidden]) statuses.push((await world.post(sender, body))?.status)
      const { user } = process.cpuUsage(before)
      const honest = await world.post(sender, quoted)

      assert.deepEqual([statuses, honest?.status], [[400, 400, 400], 200])
      assert.ok(user < 1_500_000, `it took ${user / 1000} ms`)
    })
  })

  it('are all applied in a batch of 3 MB', async () => {
    await withCallbacks(newWorld, async (world) => {
      const sender = await world.addSender()
      const first = await world.publish(sender, 'wamid.1')
      const last = await world.publish(sender, 'wamid.2')
      world.applier.start(world.events)
      const usual = {
        conversation: { id: 'c'.repeat(32) },
        pricing: { billable: true, category: 'utility'.repeat(40) },
      }
      const others = Array.from({ length: 6_000 }, (_, i) => ({ id: `wamid.other-${i}`, status: 'sent', ...usual }))
      const body = world.body(sender, status('read', first, 'wamid.1'), ...others, status('read', last, 'wamid.2'))

      const reply = await world.post(sender, body)
      await world.applied()

      assert.ok(body.length > 2_500_000 && body.length <= 3_145_728, String(body.length))
      assert.equal(reply?.status, 200)
      assert.deepEqual([await world.stateOf(first), await world.stateOf(last)], ['READ', 'READ'])
    })
  })
})
