import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, it, onTestFinished } from 'vitest'
import { WHATSAPP_WEB } from '../../src/channels/whatsapp-web/name.ts'
import type { ChannelState } from '../../src/core/ports/channel-state.ts'
import { newPostgresWorld } from '../conformance/postgres-world.ts'
import { newSqliteWorld } from '../conformance/sqlite-world.ts'
import { ANNA, BEN, hasSession, holdLane, type NewWorld } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { tinyPng } from '../support/journey/serve-files.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { LIBRARY_FOLDER, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { LibraryClient } from '../support/whatsapp-web/library-client.ts'
import {
  BREAKS_THE_LIBRARY,
  newNumber,
  openSimulator,
  RECIPIENT,
  simulator,
  until,
} from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()

const FILES = [
  { type: 'image', name: 'picture.png', mime: 'image/png', caption: 'See this', head: tinyPng() },
  { type: 'video', name: 'film.mp4', mime: 'video/mp4', caption: 'héllo', head: Buffer.from('film') },
  { type: 'audio', name: 'sound.mp3', mime: 'audio/mpeg', caption: null, head: Buffer.from('ID3') },
  { type: 'document', name: 'Rechnung № 7.pdf', mime: 'application/pdf', caption: null, head: Buffer.from('%PDF') },
] as const

const ENGINES: readonly (readonly [name: string, newWorld: NewWorld])[] = [
  ['SQLite', newSqliteWorld],
  ['PostgreSQL', newPostgresWorld],
]

describe.skipIf(REASON).each(ENGINES)(`WhatsApp Web on %s, against the simulator${skipNote(REASON)}`, (_, newWorld) => {
  openSimulator()

  it('sends a text that the recipient reads, and logs that it was delivered and read', async () => {
    const world = await openChannelWorld(simulator, newWorld)
    const number = newNumber()
    const { messageId } = await world.link(number, 'héllo', RECIPIENT)

    await world.startWorker(ANNA)

    await world.reaches(messageId, 'READ')
    assert.equal(simulator.phone(RECIPIENT).texts.at(-1), 'héllo')
  })

  it('sends each type of message, and the recipient has its bytes, its name and its caption', async () => {
    const world = await openChannelWorld(simulator, newWorld)
    const { sender, messageId } = await world.link(newNumber(), 'text', RECIPIENT)
    const sent = FILES.map((file) => ({ ...file, bytes: Buffer.concat([file.head, randomBytes(70_000)]) }))
    const ids = [messageId]
    for (const { type, name, mime, caption, bytes } of sent)
      ids.push(await world.acceptFile(sender, { type, name, caption }, { to: RECIPIENT, bytes, mime }))
    const before = simulator.phone(RECIPIENT).files.length

    await world.startWorker(ANNA)

    for (const id of ids) await world.reaches(id, 'READ')
    const files = simulator.phone(RECIPIENT).files.slice(before)
    const described = files.map(({ type, attachment: { mimetype, fileName, caption } }) =>
      [type, mimetype, fileName || null, caption || null].join(),
    )
    assert.deepEqual(
      new Set(described),
      new Set(
        sent.map(({ type, mime, name, caption }) => [type, mime, type === 'document' ? name : null, caption].join()),
      ),
    )
    for (const { type, bytes } of sent) assert.ok(files.find((file) => file.type === type)?.bytes.equals(bytes), type)
  })

  it('continues after its thread has ended, and after a restart of the worker', async () => {
    const world = await openChannelWorld(simulator, newWorld)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'first', RECIPIENT)
    const anna = await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    simulator.lineOf(number)?.send(BREAKS_THE_LIBRARY)
    await until('the end of the thread', () => world.events.some(({ event }) => event === 'channel.thread_ended'))
    const second = await world.accept(sender, 'second', RECIPIENT)
    await world.reaches(second, 'READ')
    await anna.stop()
    const third = await world.accept(sender, 'third', RECIPIENT)
    await world.startWorker(BEN)
    await world.reaches(third, 'READ')

    assert.deepEqual(simulator.phone(RECIPIENT).texts.slice(-3), ['first', 'second', 'third'])
    assert.deepEqual(simulator.phone(RECIPIENT).unreadable, [])
  })
})

describe.skipIf(REASON)(`WhatsApp Web on PostgreSQL, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('reports that its packages are missing, and is used by the next worker that has them', async () => {
    const world = await openChannelWorld(simulator, newPostgresWorld)
    const { messageId } = await world.link(newNumber(), 'hello', RECIPIENT)
    await world.startWorker(ANNA, world.createChannel({ folder: temporaryFolder() }))
    await world.waitsFor(messageId, 'channel_not_installed')

    await world.startWorker(BEN)

    await world.reaches(messageId, 'READ')
  })
})

describe.skipIf(REASON)(`WhatsApp Web, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('G5: learns from a receipt that a message was accepted although the line broke before its ack', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { messageId } = await world.link(number, 'taken', RECIPIENT)
    simulator.messages.failNext(number, 'drop-after')

    await world.startWorker(ANNA)

    await world.reaches(messageId, 'READ')
    assert.equal(simulator.phone(RECIPIENT).texts.filter((text) => text === 'taken').length, 1)
  })

  it('G5: leaves a message unconfirmed if neither an ack nor a receipt comes', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'lost', RECIPIENT)
    simulator.messages.failNext(number, 'drop-before')
    const before = simulator.messages.sent.length

    await world.startWorker(ANNA)

    await until('the attempt', () => simulator.messages.sent.length > before)
    await until(
      'the next login',
      () => world.statusesOf(sender.connectionId).filter((status) => status === 'ready').length === 2,
    )
    for (let index = 0; index < 20; index += 1) {
      world.skip(5_000)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await world.reaches(messageId, 'UNCONFIRMED')
    assert.equal(simulator.messages.sent.length, before + 1)
  })

  it('fails a message to a number that is not on WhatsApp, and sends no stanza', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { messageId } = await world.link(number, 'hello', '19990000000')
    const before = simulator.messages.sent.length

    await world.startWorker(ANNA)

    await world.reaches(messageId, 'FAILED')
    assert.equal(await world.reasonOf(messageId), 'not_on_whatsapp')
    assert.equal(simulator.messages.sent.length, before)
  })

  it('notices that its thread hangs, ends it and goes on', async () => {
    const world = await openChannelWorld(simulator)
    const hanging = hangingLibrary()
    const { sender, messageId } = await world.link(newNumber(), 'first', RECIPIENT)
    await world.startWorker(ANNA, world.createChannel({ folder: hanging.folder }))
    await world.reaches(messageId, 'READ')
    const outcomes = () => world.events.flatMap((event) => (event.event === 'attempt.finished' ? [event.outcome] : []))
    let before = 0
    simulator.messages.onSent = () => {
      // On a busy machine one may have ended before its message left.
      before = outcomes().length
      hanging.hang()
    }
    onTestFinished(() => {
      simulator.messages.onSent = () => {}
    })

    const second = await world.accept(sender, 'second', RECIPIENT)
    await until('the end of the thread', () => world.events.some(({ event }) => event === 'channel.thread_ended'))
    simulator.messages.onSent = () => {}

    await world.reaches(second, 'READ')
    const since = outcomes().slice(before)
    await world.reaches(await world.accept(sender, 'third', RECIPIENT), 'READ')
    assert.ok(!since.includes('rejected'), since.join())
    assert.equal(simulator.phone(RECIPIENT).texts.filter((text) => text === 'second').length, 1)
  })

  it('G13: a slow look-up leaves no attempt open, and nothing is sent to a number that was blocked meanwhile', async () => {
    const world = await openChannelWorld(simulator)
    const recipient = newNumber()
    simulator.phone(recipient)
    const { sender, messageId: first } = await world.link(newNumber(), 'hello', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(first, 'READ')
    simulator.queries.muted.add('usync')
    onTestFinished(() => void simulator.queries.muted.delete('usync'))
    const before = simulator.messages.sent.length

    const id = await world.accept(sender, 'too late', recipient)
    await world.waitsFor(id, 'recipient_lookup')
    await world.block(sender.accountId, recipient)
    simulator.queries.muted.delete('usync')

    await world.reaches(id, 'FAILED')
    assert.equal(await world.reasonOf(id), 'recipient_blocked')
    assert.equal(simulator.messages.sent.length, before)
  })

  it('retries storing a receipt on the same line', async () => {
    const world = await openChannelWorld(simulator)
    const { sender, messageId } = await world.link(newNumber(), 'hello', RECIPIENT)
    const memory = world.storage.channelState(WHATSAPP_WEB)
    let isAway = true
    const findSome = (...given: Parameters<typeof memory.findSome>) =>
      isAway ? Promise.reject(new Error('storage is away')) : memory.findSome(...given)
    await world.startWorker(ANNA, world.createChannel({ memory: overriding(memory, { findSome }) }))
    await world.reaches(messageId, 'PUBLISHED')

    isAway = false

    await world.reaches(messageId, 'READ')
    assert.equal(world.statusesOf(sender.connectionId).filter((status) => status === 'ready').length, 1)
  })

  it('does not acknowledge a receipt that it could not store, and receives it again after the next login', async () => {
    const world = await openChannelWorld(simulator)
    const { messageId } = await world.link(newNumber(), 'hello', RECIPIENT)
    const memory = world.storage.channelState(WHATSAPP_WEB)
    const findSome = () => Promise.reject(new Error('storage is away'))
    const forgetful = overriding(memory, { findSome })
    const anna = await world.startWorker(ANNA, world.createChannel({ memory: forgetful }))
    await world.reaches(messageId, 'PUBLISHED')
    await anna.stop()

    await world.startWorker(BEN)

    await world.reaches(messageId, 'READ')
  })

  it('stores each step of a ratchet before it sends the message', async () => {
    const world = await openChannelWorld(simulator)
    const { sender, messageId } = await world.link(newNumber(), 'first', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')
    const readRatchets = () =>
      world.storage.sql("select id, hex(value) from channel_session_key where kind = 'session'")
    const before = await readRatchets()
    const atArrival: ReturnType<typeof readRatchets>[] = []
    simulator.messages.onMessage = () => {
      atArrival.push(readRatchets())
    }
    onTestFinished(() => {
      simulator.messages.onMessage = () => {}
    })

    await world.reaches(await world.accept(sender, 'second', RECIPIENT), 'READ')

    const [then] = await Promise.all(atArrival)
    assert.notDeepEqual(then, before)
    assert.deepEqual(await readRatchets(), then)
  })

  it('G6: writes nothing after another worker may have claimed the lane', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'hello', RECIPIENT)
    const { accountId, connectionId } = sender
    const lane = await holdLane(world.storage, ANNA, connectionId)
    const channel = world.createChannel()
    onTestFinished(() => channel.stop())
    let isHeld = true
    channel.sessions?.open({ ...lane, accountId, number, stillHolds: () => isHeld })
    await until('the login', () => world.statusesOf(connectionId).includes('ready'))
    const before = simulator.messages.sent.length
    const handover = {
      messageId,
      accountId,
      connectionId,
      from: number,
      to: RECIPIENT,
      content: { type: 'message', text: 'hello' } as const,
      media: null,
      attemptNumber: 1,
      startedAt: world.storage.clock.now(),
      settings: {},
    }

    // Only the session says so: the callback of this call still claims that the lane is held.
    isHeld = false
    const outcome = await channel.send(handover, new AbortController().signal, () => true)

    assert.equal(outcome.kind === 'rejected' && outcome.failure.code, 'call_interrupted')
    assert.equal(simulator.messages.sent.length, before)
  })

  it('stays logged out when the same device logs in elsewhere, also after a restart', async () => {
    const world = await openChannelWorld(simulator)
    const { sender, messageId, state } = await world.link(newNumber(), 'hello', RECIPIENT)
    const anna = await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    const other = await LibraryClient.logIn(simulator, state)
    await until('the end', () => world.statusesOf(sender.connectionId).includes('taken-elsewhere'))
    await anna.stop()
    await world.startWorker(BEN)
    await until('the status', () => world.statusesOf(sender.connectionId).at(-1) === 'taken-elsewhere')
    const waiting = await world.accept(sender, 'waits', RECIPIENT)

    await world.waitsFor(waiting, 'session_taken')
    assert.equal(other.socket.ws.isOpen, true)
    await other.end()
  })

  it('deletes the session when the phone unlinks it, and messages wait', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'hello', RECIPIENT)
    await world.startWorker(ANNA)
    await world.reaches(messageId, 'READ')

    simulator.unlink(number)
    const waiting = await world.accept(sender, 'waits', RECIPIENT)

    await world.waitsFor(waiting, 'device_unlinked')
    assert.equal(await hasSession(world.storage), false)
  })
})

function overriding(memory: ChannelState, changed: Partial<ChannelState>): ChannelState {
  const names = ['add', 'find', 'findSome', 'list', 'due', 'dueByTurns', 'remove'] as const
  const bound = names.map((name) => [name, memory[name].bind(memory)])
  return { ...(Object.fromEntries(bound) as unknown as ChannelState), ...changed }
}

/** A copy of the library that hangs for ever once `hang` is called. */
function hangingLibrary() {
  const folder = temporaryFolder()
  const [real, lib] = [
    join(LIBRARY_FOLDER, 'node_modules/baileys/lib/index.js'),
    join(folder, 'node_modules/baileys/lib'),
  ]
  const flag = join(folder, 'hang')
  mkdirSync(lib, { recursive: true })
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}')
  writeFileSync(join(folder, 'node_modules/baileys/package.json'), '{"type": "module"}')
  writeFileSync(
    join(lib, 'index.js'),
    `import { existsSync, rmSync } from 'node:fs'
export * from ${JSON.stringify(pathToFileURL(real).href)}
setInterval(() => {
  if (!existsSync(${JSON.stringify(flag)})) return
  rmSync(${JSON.stringify(flag)})
  for (;;);
}, 1)`,
  )
  return { folder, hang: () => writeFileSync(flag, '') }
}
