import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { describe, it, onTestFinished } from 'vitest'
import { LEASE_MS } from '../../src/core/dispatch/workers/lease.ts'
import type { ConnectionId } from '../../src/core/ids.ts'
import { ANNA, BEN, hasSession, holdLane } from '../conformance/storage-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { type ChannelWorld, openChannelWorld } from '../support/whatsapp-web/channel-world.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { newNumber, openSimulator, RECIPIENT, simulator, until } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()
const LIMIT = { deadlineMs: 60_000, everyMs: 20 }
const BUSY = '503'
const LOGOUT = 'md remove-companion-device'

describe.skipIf(REASON)(`a removed connection of WhatsApp Web, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('is unlinked on its phone, also while no worker had its session', async () => {
    const { world, number } = await removeLinked()

    await world.startWorker(BEN)

    await isUnlinked(world, number)
  })

  it('is unlinked even if WhatsApp refuses its login at first', async () => {
    const { world, number, connectionId } = await removeLinked()
    simulator.refusedLogins.set(number, BUSY)
    await world.startWorker(BEN)
    await until('a refused login', () => refusals(world, connectionId) > 0)

    const before = refusals(world, connectionId)
    world.skip(LEASE_MS / 3)
    await until('the next refused login', () => refusals(world, connectionId) > before)
    simulator.refusedLogins.delete(number)

    await isUnlinked(world, number)
    assert.deepEqual(failuresToUnlink(world), [])
  })

  it('is unlinked by the next worker if the first one stops', async () => {
    const { world, number, connectionId } = await removeLinked()
    simulator.refusedLogins.set(number, BUSY)
    const ben = await world.startWorker(BEN)
    await until('a refused login', () => refusals(world, connectionId) > 0)
    await ben.stop()
    const isStored = await hasSession(world.storage)
    simulator.refusedLogins.delete(number)

    await world.startWorker(ANNA)

    await isUnlinked(world, number)
    assert.equal(isStored, true)
    assert.deepEqual(failuresToUnlink(world), [])
  })

  it('is deleted after a minute without a login, and the log says that the phone may still list it', async () => {
    const { world, number, connectionId } = await removeLinked()
    simulator.refusedLogins.set(number, BUSY)

    await world.startWorker(BEN)
    await waitUntil(
      'the end of the session',
      async () => {
        // Each skip is shorter than the lease.
        world.skip(LEASE_MS / 5)
        return !(await hasSession(world.storage))
      },
      { ...LIMIT, everyMs: 100 },
    )

    assert.equal(simulator.phone(number).devices.size, 1)
    await until('the event', () => failuresToUnlink(world).length > 0)
    assert.deepEqual(failuresToUnlink(world), [
      { event: 'session.unlink_failed', channel: 'whatsapp-web', connectionId, status: 'connecting' },
    ])
  })

  it('stays stored while all lanes are held, and is unlinked when they are released', async () => {
    const { world, number, connectionId } = await removeLinked()
    simulator.refusedLogins.set(number, BUSY)
    await world.startWorker(BEN)
    await until('a refused login', () => refusals(world, connectionId) > 0)
    const { epoch } = await readLane(world, connectionId)
    await world.storage.administration.holdLanes('a restore', 'test')

    await waitUntil(
      'the end of the minute',
      async () => {
        world.skip(LEASE_MS / 5)
        const lane = await readLane(world, connectionId)
        // Its session is closed by then, and storage refuses what the worker wants to delete.
        return lane.owner === null || lane.epoch !== epoch
      },
      { ...LIMIT, everyMs: 100 },
    )
    const isStored = await hasSession(world.storage)
    simulator.refusedLogins.delete(number)
    await world.storage.administration.releaseHold('test')

    await isUnlinked(world, number)
    assert.equal(isStored, true)
    assert.deepEqual(failuresToUnlink(world), [])
  })

  it('is deleted without a log entry if it was never linked', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const sender = await world.addSender(number)
    await world.accept(sender, 'waits', RECIPIENT)
    const { epoch } = await holdLane(world.storage, BEN, sender.connectionId)
    const channel = world.createChannel({ folder: temporaryFolder() })
    const lane = { ...sender, number, epoch, stillHolds: () => true }

    await channel.sessions?.close(lane, { remove: true, signal: new AbortController().signal })

    assert.deepEqual(failuresToUnlink(world), [])
  })

  it('is deleted if WhatsApp does not confirm the log-out, and the log says so', async () => {
    const world = await openChannelWorld(simulator)
    const number = newNumber()
    const { sender, messageId } = await world.link(number, 'hello', RECIPIENT)
    await world.startWorker(BEN)
    await world.reaches(messageId, 'READ')
    simulator.queries.muted.add(LOGOUT)
    onTestFinished(() => void simulator.queries.muted.delete(LOGOUT))

    await world.storage.administration.removeConnection(sender.connectionId, true, 'test')
    world.notify(sender.connectionId)

    await waitUntil('the end of the session', async () => !(await hasSession(world.storage)), LIMIT)
    await until('the event', () => failuresToUnlink(world).length > 0)
    assert.deepEqual(failuresToUnlink(world), [
      {
        event: 'session.unlink_failed',
        channel: 'whatsapp-web',
        connectionId: sender.connectionId,
        status: 'unanswered',
      },
    ])
  })

  it('is handed to the next worker at once if a worker loses the lane', async () => {
    const { world, number, connectionId, accountId } = await removeLinked()
    simulator.refusedLogins.set(number, BUSY)
    const channel = world.createChannel()
    onTestFinished(() => channel.stop())
    const { epoch } = await holdLane(world.storage, BEN, connectionId)
    let isHeld = true
    const lane = { connectionId, accountId, number, epoch, stillHolds: () => isHeld }
    let isClosed = false
    const { signal } = new AbortController()
    void channel.sessions?.close(lane, { remove: true, signal }).then(() => {
      isClosed = true
    })
    await until('a refused login', () => refusals(world, connectionId) > 0)

    isHeld = false

    await waitUntil('the end of the wait', async () => isClosed, { deadlineMs: 10_000, everyMs: 20 })
    assert.equal(await hasSession(world.storage), true)
    assert.equal(getEventListeners(signal, 'abort').length, 0)
  })
})

/** A linked number that has sent a message, and was removed while no worker ran. */
async function removeLinked() {
  const world = await openChannelWorld(simulator)
  const number = newNumber()
  const { sender, messageId } = await world.link(number, 'hello', RECIPIENT)
  const anna = await world.startWorker(ANNA)
  await world.reaches(messageId, 'READ')
  await anna.stop()
  await world.storage.administration.removeConnection(sender.connectionId, true, 'test')
  return { world, ...sender }
}

async function isUnlinked(world: ChannelWorld, number: string): Promise<void> {
  await until('the end of the link', () => simulator.phone(number).devices.size === 0)
  await waitUntil('the end of the session', async () => !(await hasSession(world.storage)), LIMIT)
}

async function readLane({ storage }: ChannelWorld, id: ConnectionId): Promise<{ owner: unknown; epoch: number }> {
  const [lane] = await storage.sql(`select owner, epoch from lane where connection_id = '${id}'`)
  return { owner: lane?.['owner'], epoch: Number(lane?.['epoch']) }
}

/** How many of its lines WhatsApp has ended as busy. */
function refusals(world: ChannelWorld, connectionId: ConnectionId): number {
  return world.events.filter(
    (event) => event.event === 'session.changed' && event.connectionId === connectionId && event.code === Number(BUSY),
  ).length
}

function failuresToUnlink(world: ChannelWorld) {
  return world.events.filter(({ event }) => event === 'session.unlink_failed')
}
