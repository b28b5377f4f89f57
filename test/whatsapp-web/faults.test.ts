import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { type BinaryNode, childOf, childrenOf } from '../support/whatsapp-web/binary-node.ts'
import { LIBRARY, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { LibraryClient } from '../support/whatsapp-web/library-client.ts'
import {
  deviceCache,
  end,
  linked,
  newNumber,
  nextNode,
  openSimulator,
  RECIPIENT,
  relay,
  send,
  simulator,
  TO,
  until,
  wireId,
} from '../support/whatsapp-web/library-world.ts'
import type { Line } from '../support/whatsapp-web/line.ts'

// The channel relies on what this version does. If a new version behaves differently, the titles say what to change.

const REASON = whyNoLibrary()

describe.skipIf(REASON)(
  `${LIBRARY.name} ${LIBRARY.version}, against the simulator, when things fail${skipNote(REASON)}`,
  () => {
    openSimulator()

    describe('a message', () => {
      it('can be acknowledged late, while other queries are answered', async () => {
        const number = newNumber()
        const client = await linked(number)
        const late = Promise.withResolvers<void>()
        simulator.messages.failNext(number, { stall: () => late.promise })
        await relay(client, 'slowly')

        const known = await client.socket.onWhatsApp(RECIPIENT)

        assert.deepEqual(
          [known?.length, client.acks.length, simulator.phone(RECIPIENT).texts.includes('slowly')],
          [1, 0, false],
        )
        late.resolve()
        await until('the ack', () => client.acks.length === 1)
        assert.equal(simulator.phone(RECIPIENT).texts.at(-1), 'slowly')
        await end(client)
      })

      it.each([
        ['take-silently', true],
        ['lose-silently', false],
      ] as const)('has no ack after %s, and the recipient has it: %s', async (fault, isThere) => {
        const number = newNumber()
        const client = await linked(number)
        simulator.messages.failNext(number, fault)

        await relay(client, fault)
        // The reply comes after the place where the ack would be.
        await client.socket.onWhatsApp(RECIPIENT)

        assert.deepEqual([client.acks.length, simulator.phone(RECIPIENT).texts.includes(fault)], [0, isThere])
        await end(client)
      })

      it.each([
        ['drop-after', ['delivered', 'read']],
        ['drop-before', []],
      ] as const)(
        'ends the line with 428 after %s, and the next login brings the receipts %j',
        async (fault, receipts) => {
          const number = newNumber()
          const client = await linked(number)
          simulator.messages.failNext(number, fault)
          await relay(client, fault)
          const { code } = await client.ended

          const again = await LibraryClient.logIn(simulator, client.state)

          assert.equal(code, 428)
          assert.deepEqual(
            // Some receipts may have come before the line ended.
            [...new Set([...client.receipts, ...again.receipts].map(({ attrs }) => attrs['type'] ?? 'delivered'))],
            receipts,
          )
          await end(again)
        },
      )

      it('is refused while its recipient is', async () => {
        const recipient = newNumber()
        simulator.phone(recipient)
        const to = `${recipient}@s.whatsapp.net`
        const client = await linked(newNumber())
        simulator.messages.failTo(recipient, { refuse: '429' })
        const refused = [await send(client, '1', { to }), await send(client, '2', { to })]
        simulator.messages.failTo(recipient, null)

        const taken = await send(client, '3', { to })

        assert.deepEqual(
          [...refused, taken].map(({ attrs }) => attrs['error']),
          ['429', '429', undefined],
        )
        simulator.takeComplaints()
        await end(client)
      })
    })

    describe('a line', () => {
      it.each([
        ['500', 500],
        ['503', 503],
        ['999', 999],
      ])('ends with the code of a stream error: %s', async (given, code) => {
        const number = newNumber()
        const client = await linked(number)

        simulator.breakLine(number, given)

        assert.equal((await client.ended).code, code)
      })

      it('that is cut inside a frame ends with 428, and the content of the frame comes after the next login', async () => {
        const number = newNumber()
        const client = await linked(number)
        simulator.messages.onMessage = () => lineOf(number).cutNextFrame()
        onTestFinished(() => {
          simulator.messages.onMessage = () => {}
        })
        await relay(client, 'cut')
        const { code } = await client.ended
        simulator.messages.onMessage = () => {}

        const again = await LibraryClient.logIn(simulator, client.state)

        assert.deepEqual([code, client.receipts.length, client.acks.length], [428, 0, 0])
        assert.deepEqual(
          again.receipts.map(({ attrs }) => attrs['offline']),
          ['0', '0'],
        )
        await end(again)
      })

      it('may be slow', async () => {
        const number = newNumber()
        const client = await linked(number)
        lineOf(number).gapMs = 40
        const startedAt = performance.now()

        const ack = await send(client, 'slow')

        assert.equal(ack.attrs['error'], undefined)
        // Three delays at least: the devices, the keys and the ack. Two receipts follow.
        assert.ok(performance.now() - startedAt >= 3 * 40)
        await end(client)
      })

      it('whose peer died ends only 5 s after a missed keepalive, and then waits for the WebSocket to close', async () => {
        const number = newNumber()
        const client = await linked(number, { keepAliveIntervalMs: 500 })
        lineOf(number).isFrozen = true
        const frozenAt = performance.now()
        // The library first closes the WebSocket and then waits for its end.
        await until('the WebSocket closes', () => !client.socket.ws.isOpen)
        const noticedMs = performance.now() - frozenAt
        // Takes far longer than closing a WebSocket whose peer is alive.
        await end(await linked(newNumber()))
        const isReported = await Promise.race([client.ended.then(() => true), Promise.resolve(false)])

        client.socket.ws.socket.terminate()

        assert.equal((await client.ended).code, 408)
        assert.ok(noticedMs >= 5_000, `${Math.round(noticedMs)} ms`)
        assert.equal(isReported, false)
      })
    })

    describe('receipts', () => {
      it('from the own phone of the sender say that the server has the message', async () => {
        const number = newNumber()
        const client = await linked(number)
        setReceipts('sender')

        await send(client, 'own')

        await until('the receipt', () => client.receipts.length > 0)
        const { lid } = simulator.phone(number)
        assert.deepEqual(
          client.receipts.map(({ attrs }) => [attrs['id'], attrs['type'], attrs['from']]),
          [[wireId(client, 'own'), 'sender', lid]],
        )
        await until('all acknowledged', () => isAllAcknowledged(number))
        await end(client)
      })

      it('may come late, and twice, and each is acknowledged', async () => {
        const number = newNumber()
        const client = await linked(number)
        const late = Promise.withResolvers<void>()
        setReceipts('delivered', { delay: () => late.promise, isTwice: true })
        await send(client, 'late')
        const atFirst = client.receipts.length

        late.resolve()
        await until('both', () => client.receipts.length === 2)

        assert.equal(atFirst, 0)
        await until('all acknowledged', () => isAllAcknowledged(number))
        await end(client)
      })

      it('may name several messages in a list', async () => {
        const client = await linked(newNumber())
        setReceipts('delivered', { perReceipt: 3 })

        for (const name of ['a', 'b', 'c']) await send(client, name)

        await until('the receipt', () => client.receipts.length === 1)
        assert.deepEqual(
          idsOf(client.receipts[0]!),
          ['a', 'b', 'c'].map((name) => wireId(client, name)),
        )
        await end(client)
      })

      it('may come from the number instead of the LID', async () => {
        const client = await linked(newNumber())
        setReceipts('delivered', { isByLid: false })

        await send(client, 'by number')

        await until('the receipt', () => client.receipts.length === 1)
        assert.equal(client.receipts[0]?.attrs['from'], TO)
        await end(client)
      })

      it('that are held back come after the next login', async () => {
        const client = await linked(newNumber())
        setReceipts('delivered', { isHeldBack: () => true })
        await send(client, 'held back')
        const before = client.receipts.length
        await end(client)

        const again = await LibraryClient.logIn(simulator, client.state)

        assert.deepEqual([before, again.receipts.length], [0, 1])
        await end(again)
      })
    })

    it('updates its cache of devices when it is notified of linked and unlinked ones, so entries may live long', async () => {
      const recipient = newNumber()
      const number = newNumber()
      simulator.phone(recipient)
      const to = `${recipient}@s.whatsapp.net`
      const client = await linked(number, { userDevicesCache: deviceCache() })
      await send(client, 'one device', { to })
      const added = nextNode(client, 'CB:notification')
      const device = simulator.addDevice(recipient)
      await added
      await until('the ack', () => isAllAcknowledged(number))
      await send(client, 'two devices', { to })
      const afterAdding = recipientDevices(recipient)
      const removed = nextNode(client, 'CB:notification')
      simulator.removeDevice(recipient, device)
      await removed
      await until('the ack', () => isAllAcknowledged(number))

      await send(client, 'one device again', { to })

      assert.deepEqual([afterAdding.length, recipientDevices(recipient).length], [2, 1])
      assert.deepEqual(
        simulator.takeComplaints().filter((complaint) => !complaint.includes('token')),
        [],
      )
      await end(client)
    })
  },
)

function lineOf(number: string): Line {
  const line = simulator.lineOf(number)
  assert.ok(line)
  return line
}

function setReceipts(
  level: typeof simulator.messages.receipts,
  manner: Parameters<typeof simulator.messages.receiptDesk.behave>[0] = {},
): void {
  simulator.messages.receipts = level
  simulator.messages.receiptDesk.behave(manner)
  onTestFinished(() => {
    simulator.messages.receipts = 'read'
    simulator.messages.receiptDesk.behave({})
  })
}

function isAllAcknowledged(number: string): boolean {
  return lineOf(number).login?.device.unacknowledged.length === 0
}

/** The recipient's devices that the last message was for. */
function recipientDevices(recipient: string): readonly string[] {
  return simulator.messages.sent.at(-1)?.devices.filter((jid) => jid.includes(recipient)) ?? []
}

/** The ids of all messages that a receipt names. */
function idsOf(receipt: BinaryNode): readonly (string | undefined)[] {
  const items = childrenOf(childOf(receipt, 'list'), 'item')
  return [receipt, ...items].map(({ attrs }) => attrs['id'])
}
