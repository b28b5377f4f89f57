import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newPostgresWorld } from '../conformance/postgres-world.ts'
import { newSqliteWorld } from '../conformance/sqlite-world.ts'
import { ANNA, BEN, hasSession, type NewWorld } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { ChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { LibraryClient } from '../support/whatsapp-web/library-client.ts'
import { newNumber, openSimulator, RECIPIENT, simulator, until } from '../support/whatsapp-web/library-world.ts'
import type { WatchedRequest } from '../support/whatsapp-web/watched-request.ts'

const REASON = whyNoLibrary()
const LIMIT = { deadlineMs: 30_000, everyMs: 20 }

const ENGINES: readonly (readonly [name: string, newWorld: NewWorld])[] = [
  ['SQLite', newSqliteWorld],
  ['PostgreSQL', newPostgresWorld],
]

describe.skipIf(REASON).each(ENGINES)(
  `linking a number on %s, against the simulator${skipNote(REASON)}`,
  (_, newWorld) => {
    openSimulator()

    it('by a QR code sends waiting messages at once', async () => {
      const world = await openWorld(newWorld)
      const number = newNumber()
      const sender = await world.addSender(number)
      const messageId = await world.accept(sender, 'waited', RECIPIENT)
      await world.startWorker(ANNA)
      await world.waitsFor(messageId, 'device_unlinked')

      const request = await world.request(sender, 'qr')
      simulator.pairing.scan(number, await request.code())

      assert.deepEqual(await request.end(), ['done', undefined])
      await world.reaches(messageId, 'READ')
      assert.equal(simulator.phone(RECIPIENT).texts.at(-1), 'waited')
      const status = await world.statusOf(sender)
      assert.deepEqual([status?.status, status?.isLinked, status?.lastLogin?.device], ['ready', true, '1'])
      assert.match(status?.lastLogin?.version ?? '', /^2\.3000\.\d+$/)
      const [row] = await world.storage.sql('select code from session_request')
      assert.equal(row?.['code'], null)
    })

    it('by a code typed into the phone', async () => {
      const world = await openWorld(newWorld)
      const number = newNumber()
      const sender = await world.addSender(number)
      await world.startWorker(ANNA)

      const request = await world.request(sender, 'code')
      const code = await request.code()
      simulator.pairing.typeCode(number, code)

      assert.match(code, /^[0-9A-Z]{8}$/)
      assert.deepEqual(await request.end(), ['done', undefined])
    })

    it('is done by one worker, and continues at another when the first stops', async () => {
      const world = await openWorld(newWorld)
      const number = newNumber()
      const sender = await world.addSender(number)
      const anna = await world.startWorker(ANNA)
      const request = await world.request(sender, 'qr')
      const first = await request.code()
      await anna.stop()

      await world.startWorker(BEN)
      const second = await request.code(first)
      assert.throws(() => simulator.pairing.scan(number, first), /no device shows this code any more/)
      simulator.pairing.scan(number, second)

      assert.deepEqual(await request.end(), ['done', undefined])
      assert.equal(simulator.phone(number).devices.size, 1)
    })
  },
)

describe.skipIf(REASON)(`linking a number, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('shows a code with a new secret when the phone refuses the first one', async () => {
    simulator.pairing.needsNewSecret = true
    onTestFinished(() => {
      simulator.pairing.needsNewSecret = false
    })
    const { world, number, sender } = await openUnlinked()
    const request = await world.request(sender, 'qr')
    const first = await request.code()
    assert.throws(() => simulator.pairing.scan(number, first), /could not link the device/)

    const second = await request.code(first)
    simulator.pairing.scan(number, second)

    assert.deepEqual(first.split(',').slice(0, 3), second.split(',').slice(0, 3))
    assert.deepEqual(await request.end(), ['done', undefined])
  })

  it('links nothing if the phone has another number, and stores nothing', async () => {
    const { world, sender } = await openUnlinked()
    const other = newNumber()
    const request = await world.request(sender, 'qr')

    simulator.pairing.scan(other, await request.code())

    assert.deepEqual(await request.end(), ['other-number', other.slice(-2)])
    assert.equal(simulator.phone(other).devices.size, 0)
    assert.equal(await hasSession(world.storage), false)
  })

  it('shows no code if WhatsApp refuses it', async () => {
    simulator.pairing.isCodeRefused = true
    onTestFinished(() => {
      simulator.pairing.isCodeRefused = false
    })
    const { world, sender } = await openUnlinked()

    const request = await world.request(sender, 'code')

    assert.deepEqual(await request.end(), ['code-refused', '400'])
    assert.equal(await hasSession(world.storage), false)
  })

  it('shows the code until it is typed correctly, even if the phone opens the page for codes first', async () => {
    let mistyped = 0
    simulator.pairing.onMistyped = () => {
      mistyped += 1
    }
    onTestFinished(() => {
      simulator.pairing.onMistyped = () => {}
    })
    const { world, number, sender } = await openUnlinked()
    const request = await world.request(sender, 'code')
    const code = await request.code()

    simulator.pairing.openCodePage(number)
    simulator.pairing.typeCode(number, code === 'AAAAAAAA' ? 'BBBBBBBB' : 'AAAAAAAA')
    await until('the phone refuses it', () => mistyped === 1)
    const shown = await request.code()
    simulator.pairing.typeCode(number, code)

    assert.equal(shown, code)
    assert.deepEqual(await request.end(), ['done', undefined])
    assert.equal(world.events.filter(({ event }) => event === 'channel.thread_ended').length, 0)
  })

  it('links a device whose code was typed in its last second, although the code expires meanwhile', async () => {
    const { world, number, sender } = await openUnlinked()
    const request = await world.request(sender, 'code')
    const code = await request.code()

    await passWhileWatched(world, request, 180_000)
    simulator.pairing.typeCode(number, code)

    assert.deepEqual(await request.end(), ['done', undefined])
  })

  it('ends when WhatsApp does not answer the request for a code', async () => {
    simulator.queries.muted.add('md link_code_companion_reg')
    onTestFinished(() => void simulator.queries.muted.delete('md link_code_companion_reg'))
    const { world, sender } = await openUnlinked()
    const request = await world.request(sender, 'code')
    await until('the question', () => simulator.requests.includes('iq md set <link_code_companion_reg>'))

    await passWhileWatched(world, request, 60_000)

    assert.deepEqual(await request.end(), ['failed', undefined])
    assert.equal(await hasSession(world.storage), false)
  })

  it('ends when it is cancelled, when no page watches it any more, and when its code has expired', async () => {
    const { world, sender } = await openUnlinked()
    const cancelled = await world.request(sender, 'qr')
    const code = await cancelled.code()
    await cancelled.cancel()
    assert.deepEqual(await cancelled.end(), ['cancelled', undefined])
    await until('the end of the line', () => !isShown(code))

    const unwatched = await world.request(sender, 'qr')
    await unwatched.code()
    world.skip(61_000)
    const hasEnded = async () =>
      (await world.storage.sql('select ended_at from session_request'))[0]?.['ended_at'] !== null
    await waitUntil('the end of what is not watched', hasEnded, LIMIT)
    assert.deepEqual(await unwatched.end(), ['unwatched', undefined])

    const expired = await world.request(sender, 'code')
    await expired.code()
    await passWhileWatched(world, expired, 200_000)
    assert.deepEqual(await expired.end(), ['expired', undefined])
    assert.equal(await hasSession(world.storage), false)
  })

  it('stores the credentials before the device signs, so that a crash leaves no device that cannot log in', async () => {
    const { world, number, sender } = await openUnlinked()
    const stored: Promise<boolean>[] = []
    simulator.pairing.onFinish = () => {
      stored.push(hasSession(world.storage))
    }
    onTestFinished(() => {
      simulator.pairing.onFinish = () => {}
    })
    const request = await world.request(sender, 'qr')

    simulator.pairing.scan(number, await request.code())
    await request.end()

    assert.deepEqual(await Promise.all(stored), [true])
  })

  it('continues after a crash between the signature and the login', async () => {
    const { world, number, sender, anna } = await openUnlinked()
    simulator.refusedLogins.set(number, '503')
    const request = await world.request(sender, 'qr')
    simulator.pairing.scan(number, await request.code())
    await until('the device', () => simulator.phone(number).devices.size === 1)
    await anna.stop()
    simulator.refusedLogins.delete(number)

    await world.startWorker(BEN)

    assert.deepEqual(await request.end(), ['done', undefined])
    assert.equal(simulator.phone(number).devices.size, 1)
  })

  it('again keeps the old device until a phone has linked the new one, and then unlinks it', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'first', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    const given = await world.request(sender, 'qr')
    await given.code()
    await given.cancel()
    await world.reaches(await world.accept(sender, 'by the device from before', RECIPIENT), 'READ')

    const request = await world.request(sender, 'qr')
    simulator.pairing.scan(number, await request.code())

    assert.deepEqual(await request.end(), ['done', undefined])
    await world.reaches(await world.accept(sender, 'by the new one', RECIPIENT), 'READ')
    await until('one device', () => simulator.phone(number).devices.size === 1)
    assert.deepEqual([...simulator.phone(number).devices.keys()], [2])
    assert.deepEqual(simulator.phone(RECIPIENT).unreadable, [])
  })

  it('again returns to the old device if the new one cannot log in', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'first', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    simulator.pairing.onFinish = (phone, device) => setImmediate(() => phone.devices.delete(device))
    onTestFinished(() => {
      simulator.pairing.onFinish = () => {}
    })

    const request = await world.request(sender, 'qr')
    simulator.pairing.scan(number, await request.code())

    assert.deepEqual(await request.end(), ['failed', 'unlinked'])
    await world.reaches(await world.accept(sender, 'second', RECIPIENT), 'READ')
    assert.deepEqual([...simulator.phone(number).devices.keys()], [1])
    // The ratchets of the old device are deleted, so it opens new sessions with devices that it knew.
    for (const complaint of simulator.takeComplaints()) assert.match(complaint, /^keys of \d+@lid were fetched again$/)
  })

  it('can be undone: the phone is unlinked and the status says so', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'first', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    const request = await world.request(sender, 'unlink')

    assert.deepEqual(await request.end(), ['done', undefined])
    assert.equal(simulator.phone(number).devices.size, 0)
    assert.equal(await hasSession(world.storage), false)
    const status = await world.statusOf(sender)
    assert.deepEqual([status?.status, status?.isLinked], ['unlinked', false])
    await world.waitsFor(await world.accept(sender, 'waits', RECIPIENT), 'device_unlinked')
  })

  it('can be undone while the session waits for its next login, by unlinking or by removing the connection', async () => {
    const world = await openWorld()
    const [one, other] = [newNumber(), newNumber()]
    const senders = [await world.link(one, 'first', RECIPIENT), await world.link(other, 'first', RECIPIENT)]
    for (const number of [one, other]) simulator.refusedLogins.set(number, '405')
    await world.startWorker(ANNA)
    for (const { sender } of senders)
      await until('the refusal', () => world.statusesOf(sender.connectionId).includes('client-refused'))
    for (const number of [one, other]) simulator.refusedLogins.delete(number)

    const request = await world.request(senders[0]!.sender, 'unlink')
    const { connectionId } = senders[1]!.sender
    await world.storage.administration.removeConnection(connectionId, true, 'test')
    world.notify(connectionId)

    assert.deepEqual(await request.end(), ['done', undefined])
    assert.equal(simulator.phone(one).devices.size, 0)
    await until('the end of the link', () => simulator.phone(other).devices.size === 0)
  })

  it('uses a number here again that was taken elsewhere, only when a person asks for that', async () => {
    const world = await openWorld()
    const number = newNumber()
    const { sender, messageId, state } = await world.link(number, 'first', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    const other = await LibraryClient.logIn(simulator, state)
    await until('the end', () => world.statusesOf(sender.connectionId).includes('taken-elsewhere'))
    const waiting = await world.accept(sender, 'waits', RECIPIENT)
    await world.waitsFor(waiting, 'session_taken')
    const isStored = async () => (await world.statusOf(sender))?.status === 'taken-elsewhere'
    await waitUntil('the status is stored', isStored, LIMIT)

    const request = await world.request(sender, 'use-here')

    assert.deepEqual(await request.end(), ['done', undefined])
    assert.equal((await other.ended).code, 440)
    await world.reaches(waiting, 'READ')
  })

  it('refuses what is impossible, and a second request at the same time', async () => {
    const { world, sender } = await openUnlinked()
    await assert.rejects(world.request(sender, 'unlink'), { code: 'number_not_linked' })
    await assert.rejects(world.request(sender, 'use-here'), { code: 'number_not_linked' })
    const request = await world.request(sender, 'qr')
    await request.code()

    await assert.rejects(world.request(sender, 'code'), { code: 'session_request_running' })
    await request.cancel()
    for (let count = 1; count < 10; count += 1) await (await world.request(sender, 'code')).cancel()
    await assert.rejects(world.request(sender, 'qr'), { code: 'links_exhausted' })

    world.skip(3_601_000)
    await waitUntil(
      'an hour',
      async () =>
        world.request(sender, 'qr').then(
          () => true,
          () => false,
        ),
      LIMIT,
    )
  })
})

/** Lets time pass in steps shorter than a lease, so that the worker keeps the lane. */
async function passWhileWatched(world: ChannelWorld, request: WatchedRequest, ms: number): Promise<void> {
  for (let passed = 0; passed <= ms; passed += 5_000) {
    await request.watch()
    world.skip(5_000)
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}

function isShown(code: string): boolean {
  const [ref = ''] = code.split('#')[1]?.split(',') ?? []
  return [...simulator.lines].some(({ waiting }) => waiting?.refs.includes(ref))
}

async function openUnlinked() {
  const world = await openWorld()
  const number = newNumber()
  const sender = await world.addSender(number)
  const anna = await world.startWorker(ANNA)
  return { world, number, sender, anna }
}

async function openWorld(newWorld: NewWorld = newSqliteWorld): Promise<ChannelWorld> {
  const world = new ChannelWorld(await newWorld(), simulator)
  onTestFinished(() => world.close())
  return world
}
