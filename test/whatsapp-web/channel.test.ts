import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newPostgresWorld } from '../conformance/postgres-world.ts'
import { newSqliteWorld } from '../conformance/sqlite-world.ts'
import { ANNA, BEN, type NewWorld } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { ChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, RECIPIENT, simulator, until } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()

const ENGINES: readonly (readonly [name: string, newWorld: NewWorld])[] = [
  ['SQLite', newSqliteWorld],
  ['PostgreSQL', newPostgresWorld],
]

describe.skipIf(REASON).each(ENGINES)(`WhatsApp Web on %s, against the simulator${skipNote(REASON)}`, (_, newWorld) => {
  openSimulator()

  it('sends a text that the recipient reads, and logs that it was delivered and read', async () => {
    const world = await openWorld(newWorld)
    const number = newNumber()
    const { messageId } = await world.link(number, 'héllo', RECIPIENT)

    await world.startWorker(ANNA)

    await world.reaches(messageId, 'READ')
    assert.equal(simulator.phone(RECIPIENT).texts.at(-1), 'héllo')
  })

  it('goes on after its thread has ended, and after a restart of the worker', async () => {
    const world = await openWorld(newWorld)
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

// One of its listeners rejects, and nothing of it handles that.
const BREAKS_THE_LIBRARY = {
  tag: 'iq',
  attrs: { id: 'broken', type: 'set', from: 's.whatsapp.net' },
  content: [{ tag: 'pair-device', attrs: {}, content: [{ tag: 'ref', attrs: {} }] }],
}

async function openWorld(newWorld: NewWorld): Promise<ChannelWorld> {
  const world = new ChannelWorld(await newWorld(), simulator)
  onTestFinished(() => world.close())
  return world
}
