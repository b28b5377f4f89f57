import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, onTestFinished } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { LIBRARY, type MakeSignalRepository, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { LibraryClient } from '../support/whatsapp-web/library-client.ts'
import {
  deviceCache,
  end,
  linked,
  newNumber,
  noteToken,
  openSimulator,
  RECIPIENT,
  relay,
  send,
  simulator,
  until,
  wireId,
} from '../support/whatsapp-web/library-world.ts'

// The channel relies on what this version does. If a new version behaves differently, the titles say what to change.

const REASON = whyNoLibrary()

describe.skipIf(REASON)(
  `${LIBRARY.name} ${LIBRARY.version}, against the simulator, sends a message${skipNote(REASON)}`,
  () => {
    openSimulator()

    it('that the recipient reads, and reports what happens to it', async () => {
      const number = newNumber()
      const client = await linked(number)

      await send(client, 'first', { text: 'héllo' })

      await until('both receipts', () => client.receipts.length === 2)
      assert.deepEqual(
        client.receipts.map(({ attrs }) => [attrs['id'], attrs['type'] ?? 'delivered']),
        [
          [wireId(client, 'first'), 'delivered'],
          [wireId(client, 'first'), 'read'],
        ],
      )
      assert.equal(simulator.phone(RECIPIENT).texts.at(-1), 'héllo')
      assert.equal(
        simulator.phone(number).inbox.at(-1)?.message.deviceSentMessage?.message.extendedTextMessage?.text,
        'héllo',
      )
      await end(client)
    })

    it('to no device of the recipient if the query for devices gets no answer, and the server acknowledges it', async () => {
      const before = await linked(newNumber())
      await send(before, 'with devices')
      await end(before)
      // It has a session with its own phone, so nothing else has to be answered in this time.
      const client = await LibraryClient.logIn(simulator, before.state, { defaultQueryTimeoutMs: 300 })
      simulator.queries.muted.add('usync')
      onTestFinished(() => void simulator.queries.muted.delete('usync'))

      const ack = await send(client, 'without devices')

      assert.equal(ack.attrs['error'], undefined)
      assert.ok(!simulator.messages.sent.at(-1)?.devices.some((jid) => jid.includes(RECIPIENT)))
      assert.match(simulator.takeComplaints().join(), /it left out \d of 2 devices/)
      await end(client)
    })

    it('only to the own phone of the sender if the recipient is not on WhatsApp, and the server acknowledges it', async () => {
      const number = newNumber()
      const client = await linked(number)

      const ack = await send(client, 'to no one', { to: '19990000000@s.whatsapp.net' })

      assert.equal(ack.attrs['error'], undefined)
      assert.ok(simulator.messages.sent.at(-1)?.devices.every((jid) => jid.includes(number)))
      assert.match(simulator.takeComplaints().join(), /to a number that is not registered/)
      await end(client)
    })

    it('without a device that it cannot encrypt for, and fails only if there is no other', async () => {
      const several = newNumber()
      await end(await LibraryClient.link(simulator, several))
      const failing = new Set([`${several}:1@`])
      const client = await linked(newNumber(), { makeSignalRepository: failFor(failing) })
      const to = `${several}@s.whatsapp.net`

      await send(client, 'for one device', { to })
      failing.add(several)
      await assert.rejects(relay(client, 'for no device', { to }), /All encryptions failed/)

      const devices = simulator.messages.sent.at(-1)?.devices.filter((jid) => jid.includes(several))
      assert.equal(devices?.length, 1)
      assert.deepEqual(
        simulator.takeComplaints().filter((problem) => !problem.includes('token')),
        [`message ${wireId(client, 'for one device')}: it left out 1 of 3 devices`],
      )
      await end(client)
    })

    it('with newly fetched keys if the devices of the recipient are not in the cache, so the cache must be stored', async () => {
      const cache = deviceCache()
      const client = await linked(newNumber(), { userDevicesCache: cache })
      await send(client, 'first')
      await send(client, 'from the cache')
      assert.deepEqual(simulator.takeComplaints(), [])

      cache.flushAll()
      await send(client, 'without the cache')

      assert.match(simulator.takeComplaints().join(), /keys of \S+ were fetched again/)
      await end(client)
      const again = await LibraryClient.logIn(simulator, client.state, { userDevicesCache: cache })
      await send(again, 'after a restart with the cache')
      await end(again)
    })

    it('and then requests a trusted-contact token each time, unless a request is noted in its state', async () => {
      const client = await LibraryClient.link(simulator, newNumber())
      const atFirst = tokenRequests()
      await send(client, '1')
      await send(client, '2')
      await until('two requests', () => tokenRequests() === atFirst + 2)
      assert.match(simulator.takeComplaints().join(), /a token for \S+ was asked for again/)
      assert.deepEqual(client.state.idsOf('tctoken'), [])

      await noteToken(client)
      const before = tokenRequests()
      await send(client, '3')
      // The reply comes after the request that the third message would have caused.
      await client.socket.onWhatsApp(RECIPIENT)

      assert.equal(tokenRequests(), before)
      await end(client)
    })

    it('and stores the ratchet only after the stanza was sent, so a kill in between makes the next message unreadable', async () => {
      const client = await linked(newNumber())
      await send(client, 'first')
      const sessions = () => JSON.stringify(client.state.idsOf('session').map((row) => client.state.rows.get(row)))
      const before = sessions()
      let atArrival: string | null = null
      simulator.messages.onMessage = () => {
        atArrival ??= sessions()
      }
      onTestFinished(() => {
        simulator.messages.onMessage = () => {}
      })
      const stored = Promise.withResolvers<void>()
      client.state.heldUntil = stored.promise

      const sending = send(client, 'second')
      await until('the stanza', () => atArrival !== null)
      stored.resolve()
      await sending

      assert.equal(atArrival, before)
      await until('the step', () => sessions() !== before)
      await end(client)
    })

    it('unless reading the length of its additional nodes throws, and then the ratchet does not step', async () => {
      const client = await linked(newNumber())
      await send(client, 'first')
      const sessions = () => JSON.stringify(client.state.idsOf('session').map((row) => client.state.rows.get(row)))
      const [before, sent] = [sessions(), simulator.messages.sent.length]

      await assert.rejects(relay(client, 'fenced', { additionalNodes: FENCE }), /may not leave/)

      assert.deepEqual([sessions(), simulator.messages.sent.length], [before, sent])
      await send(client, 'next', { text: 'next' })
      assert.equal(simulator.phone(RECIPIENT).texts.at(-1), 'next')
      await end(client)
    })

    it('with a reporting token in only some of its stanzas', async () => {
      const client = await linked(newNumber())
      const before = simulator.messages.sent.length
      const { Message } = simulator.library.proto
      const message = Message.fromObject({
        extendedTextMessage: { text: 'reported' },
        messageContextInfo: { messageSecret: randomBytes(32) },
      })
      simulator.messages.receipts = 'none'
      onTestFinished(() => {
        simulator.messages.receipts = 'read'
      })

      for (let index = 0; index < 64; index += 1) await send(client, `reported ${index}`, { message })

      const stanzas = simulator.messages.sent.slice(before)
      const reported = stanzas.filter(({ tags }) => tags.includes('reporting')).length
      assert.ok(reported > 0 && reported < stanzas.length, `${reported} of ${stanzas.length}`)
      simulator.takeComplaints()
      await end(client)
    })

    it.each(['463', '479', '429'])(
      'and hands the ack with error %s over as a stanza, and reports no lock of first contacts',
      async (code) => {
        const number = newNumber()
        const client = await linked(number)
        const updates: unknown[] = []
        client.socket.ev.on('messages.update', (changed) => void updates.push(...changed))
        simulator.messages.failNext(number, { refuse: code })

        const ack = await send(client, 'refused')

        assert.equal(ack.attrs['error'], code)
        await until('the event', () => updates.length > 0)
        // The library does not report it by itself; it must be queried.
        assert.ok(client.updates.every(({ reachoutTimeLock }) => reachoutTimeLock === undefined))
        await end(client)
      },
    )

    it('and requests the token of the recipient once more after a 463, unless its listener for acks is removed', async () => {
      const number = newNumber()
      const client = await linked(number)
      const before = tokenRequests()
      simulator.messages.failNext(number, { refuse: '463' }, { refuse: '463' })
      await send(client, 'refused')
      await until('the request', () => tokenRequests() === before + 1)
      const [theirs] = client.socket.ws.listeners('CB:ack,class:message')
      assert.ok(theirs)
      client.socket.ws.off('CB:ack,class:message', theirs)

      await send(client, 'refused again')
      // The reply comes after the request that the second message would have caused.
      await client.socket.onWhatsApp(RECIPIENT)

      assert.equal(tokenRequests(), before + 1)
      await end(client)
    })

    it('and reports until when first contacts are locked only when it is queried', async () => {
      const number = newNumber()
      const client = await linked(number)
      await send(client, 'first contact before the lock')
      const stranger = newNumber()
      await noteToken(client, stranger)
      const before = await client.socket.fetchAccountReachoutTimelock()
      simulator.messages.lockedUntil.set(number, new Date(Date.now() + 3_600_000))

      const lock = await client.socket.fetchAccountReachoutTimelock()
      const toStranger = await send(client, 'to a stranger', { to: `${stranger}@s.whatsapp.net` })
      const toKnown = await send(client, 'to a known one')

      assert.deepEqual([before.isActive, lock.isActive], [false, true])
      assert.ok((lock.timeEnforcementEnds?.getTime() ?? 0) > Date.now())
      assert.deepEqual([toStranger.attrs['error'], toKnown.attrs['error']], ['463', undefined])
      await end(client)
    })

    it('and delays events long after the first login, but not stanzas, so only stanzas can be relied on', async () => {
      const number = newNumber()
      const client = await linked(number, {
        shouldSyncHistoryMessage: ({ syncType }: { syncType: number }) => syncType !== FULL_HISTORY,
      })
      const updates: unknown[] = []
      client.socket.ev.on('messages.update', (changed) => void updates.push(...changed))
      simulator.messages.failNext(number, { refuse: '479' })

      const ack = await send(client, 'refused')

      assert.deepEqual([ack.attrs['error'], updates.length, client.socket.ev.isBuffering()], ['479', 0, true])
      await until('the event is held back', () => client.socket.ev.flush() && updates.length > 0)
      await end(client)
    })

    it('and acknowledges receipts only after its own listener has run, so an unstored receipt comes again', async () => {
      const client = await linked(newNumber())
      const [theirs] = client.socket.ws.listeners('CB:receipt')
      assert.ok(theirs)
      client.socket.ws.off('CB:receipt', theirs)
      await send(client, 'first')
      await until('both receipts', () => client.receipts.length === 2)
      await end(client)

      const again = await LibraryClient.logIn(simulator, client.state)

      assert.deepEqual(
        again.receipts.map(({ attrs }) => [attrs['type'] ?? 'delivered', attrs['offline']]),
        [
          ['delivered', '0'],
          ['read', '0'],
        ],
      )
      await end(again)
    })
  },
)

const FULL_HISTORY = 2

const FENCE = {
  get length(): number {
    throw new Error('this message may not leave')
  },
}

function tokenRequests(): number {
  return simulator.requests.filter((request) => request === 'iq privacy set <tokens>').length
}

/** The library's own repository, except that encrypting fails for addresses that contain one of these parts. */
function failFor(parts: ReadonlySet<string>): MakeSignalRepository {
  return (...args) => {
    const repository = simulator.library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(...args)
    const encrypt = repository.encryptMessage.bind(repository)
    repository.encryptMessage = async (plain) => {
      if ([...parts].some((part) => plain.jid.includes(part))) throw new Error('no session')
      return encrypt(plain)
    }
    return repository
  }
}
