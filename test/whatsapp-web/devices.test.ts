import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, onTestFinished, vi } from 'vitest'
import { ANNA } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { type ChannelWorld, openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { newCompanion } from '../support/whatsapp-web/companion.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, simulator, until } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()
// The rows for both phones: the sender's and the recipient's.
const READ_KINDS = ['devices', 'devices', 'recipient', 'session', 'session', 'tctoken']
const MOST_TRIES = 5

describe.skipIf(REASON)(`WhatsApp Web and the devices of a recipient, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('queries devices and keys again after a refusal for wrong devices, even if WhatsApp spells the number differently', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const phone = simulator.phone('551187654321')
    simulator.phones.set('5511987654321', phone)
    const { sender, messageId } = await world.link(number, 'hello', '5511987654321')
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    phone.devices.set(9, newCompanion(simulator.library, 9))
    simulator.messages.failNext(number, { refuse: '479' })
    const before = phone.takenKeys

    const second = await world.accept(sender, 'again', '5511987654321')

    await world.reaches(second, 'READ')
    assert.deepEqual([devicesOfLast('551187654321'), phone.takenKeys], [2, before + 1])
    assert.match(simulator.takeComplaints().join(), /^message \S+: it left out 1 of 3 devices$/)
  })

  it('fetches no keys of devices with a session when it queries the devices again', async () => {
    const world = await openChannelWorld(simulator)
    const [number, recipient] = [newNumber(), newNumber()]
    const phone = simulator.phone(recipient)
    const { sender, messageId } = await world.link(number, 'one device', recipient)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    phone.devices.set(9, newCompanion(simulator.library, 9))
    await world.storage.sql(`delete from channel_session_key where kind = 'devices'`)
    const before = phone.takenKeys

    await world.reaches(await world.accept(sender, 'two devices', recipient), 'READ')

    assert.deepEqual([devicesOfLast(recipient), phone.takenKeys, simulator.takeComplaints()], [2, before, []])
  })

  it('reads its state of a recipient once for each message', async () => {
    const world = await openChannelWorld(simulator)
    const recipient = newNumber()
    simulator.phone(recipient)
    const { sender, messageId } = await world.link(newNumber(), 'first', recipient)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    const read = vi.spyOn(world.storage.sessions, 'read')
    let kinds: readonly string[] = []

    // On a busy machine a message may take more than one attempt.
    for (let tries = 1; tries <= MOST_TRIES && kinds.length !== READ_KINDS.length; tries += 1) {
      read.mockClear()
      await world.reaches(await world.accept(sender, `message ${tries}`, recipient), 'READ')
      kinds = read.mock.calls.map(([, kind]) => kind).filter((kind) => READ_KINDS.includes(kind))
    }

    assert.deepEqual([...kinds].sort(), READ_KINDS)
  })

  it('repeats a message for the one device that could not read it, at most twice, and logs that', async () => {
    const world = await openChannelWorld(simulator)
    const [number, recipient] = [newNumber(), newNumber()]
    const phone = simulator.phone(recipient)
    phone.deafFor = 1
    const { sender, messageId } = await world.link(number, 'once more', recipient)
    const before = simulator.messages.sent.length

    await world.startWorker(ANNA)

    await world.reaches(messageId, 'READ')
    const stanzas = simulator.messages.sent.slice(before)
    assert.deepEqual([phone.texts, phone.unreadable], [['once more'], []])
    assert.deepEqual(
      stanzas.map(({ devices }) => devices.length),
      [2, 1],
    )
    assert.deepEqual(new Set(stanzas.map(({ id }) => id)).size, 1)
    assert.ok((await world.timelineOf(messageId)).includes('receipt-unreadable'))
    await until('it is counted', () =>
      world.events.some((event) => event.event === 'callback.applied' && event.kind === 'unreadable'),
    )

    phone.deafFor = 10
    const second = await world.accept(sender, 'never', recipient)
    await until('the stanzas', () => simulator.messages.sent.length >= before + 5)
    await until('the acknowledgements', () => isAllAcknowledged(number))
    assert.deepEqual([simulator.messages.sent.length, phone.texts], [before + 5, ['once more']])
    assert.equal(await world.stateOf(second), 'PUBLISHED')
  })

  it('repeats an unreadable message, even if the line breaks several times before that', async () => {
    const world = await openChannelWorld(simulator)
    const [number, recipient] = [newNumber(), newNumber()]
    const phone = simulator.phone(recipient)
    const { sender, messageId } = await world.link(number, 'read', recipient)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    phone.deafFor = 1
    simulator.queries.muted.add('encrypt key')
    onTestFinished(() => void simulator.queries.muted.delete('encrypt key'))
    let asked = countKeyRequests()
    const second = await world.accept(sender, 'not read', recipient)

    for (let times = 1; times <= 3; times += 1) {
      await until('the question for keys', () => countKeyRequests() > asked)
      asked = countKeyRequests()
      if (times === 3) simulator.queries.muted.delete('encrypt key')
      simulator.breakLine(number, '503')
    }

    await world.reaches(second, 'READ')
    assert.deepEqual([phone.texts, phone.unreadable], [['read', 'not read'], []])
  })

  it('G13: repeats nothing to a recipient that was blocked before the keys of the device came', async () => {
    const world = await openChannelWorld(simulator)
    const [number, recipient] = [newNumber(), newNumber()]
    const phone = simulator.phone(recipient)
    const { sender, messageId } = await world.link(number, 'read', recipient)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    phone.deafFor = 1
    simulator.queries.muted.add('encrypt key')
    onTestFinished(() => void simulator.queries.muted.delete('encrypt key'))
    const asked = countKeyRequests()
    const second = await world.accept(sender, 'not read', recipient)
    await until('the question for keys', () => countKeyRequests() > asked)
    const stanzas = simulator.messages.sent.length

    await world.block(sender.accountId, recipient)
    simulator.queries.muted.delete('encrypt key')
    simulator.breakLine(number, '503')

    await until('the acknowledgement after the next login', () => isAllAcknowledged(number))
    assert.deepEqual([simulator.messages.sent.length, phone.texts], [stanzas, ['read']])
    assert.ok(!(await world.timelineOf(second)).includes('receipt-unreadable'))
  })

  it('repeats a file for a device that could not read its message', async () => {
    const world = await openChannelWorld(simulator)
    const recipient = newNumber()
    const phone = simulator.phone(recipient)
    const { sender } = await world.link(newNumber(), 'hello', recipient)
    await world.startWorker(ANNA)
    await until('the text', () => phone.texts.length === 1)
    phone.deafFor = 1
    const bytes = randomBytes(1_000)
    const content = { type: 'document', name: 'file.pdf', caption: 'See this' } as const

    const id = await world.acceptFile(sender, content, { to: recipient, bytes, mime: 'application/pdf' })

    await world.reaches(id, 'READ')
    assert.ok(phone.files[0]?.bytes.equals(bytes))
  })

  it('sends to the remaining devices after one was unlinked, with a notification by LID or with none', async () => {
    const world = await openChannelWorld(simulator)
    const recipient = newNumber()
    const phone = simulator.phone(recipient)
    const gone = [simulator.addDevice(recipient), simulator.addDevice(recipient)]
    const { sender, messageId } = await world.link(newNumber(), 'three devices', recipient)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    simulator.removeDevice(recipient, gone[0] ?? 0, { isByLid: true })
    await until('the acknowledgement', () => isAllAcknowledged(sender.number))
    await world.reaches(await world.accept(sender, 'two devices', recipient), 'READ')
    const afterNotice = devicesOfLast(recipient)
    await forgetSession(world, phone.lidUser, gone[1] ?? 0)
    phone.devices.delete(gone[1] ?? 0)
    await world.reaches(await world.accept(sender, 'one device', recipient), 'READ')

    assert.deepEqual([afterNotice, devicesOfLast(recipient)], [2, 1])
  })
})

function isAllAcknowledged(number: string): boolean {
  return simulator.lineOf(number)?.login?.device.unacknowledged.length === 0
}

function countKeyRequests(): number {
  return simulator.requests.filter((request) => request === 'iq encrypt get <key>').length
}

/** How many of the recipient's devices the last message was for. */
function devicesOfLast(recipient: string): number {
  return simulator.messages.sent.at(-1)?.devices.filter((jid) => jid.includes(recipient)).length ?? 0
}

/** Deletes the session with a device, as if its keys had never been fetched. The next message fetches them. */
async function forgetSession({ storage }: ChannelWorld, lidUser: string, device: number): Promise<void> {
  await storage.sql(`delete from channel_session_key where kind = 'session' and id = '${lidUser}_1.${device}'`)
}
