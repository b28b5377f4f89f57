import assert from 'node:assert/strict'
import type { SessionKey, SessionRight } from '../../src/core/ports/session-store.ts'
import { createDeviceSessions } from '../../src/storage/queries/connections/device-sessions.ts'
import {
  ANNA,
  accept,
  addSender,
  BEN,
  beat,
  claim,
  holdLane,
  type NewWorld,
  type Sender,
  type StorageWorld,
  type Suite,
} from './storage-world.ts'

const FIRST = { dataKey: 'sealed', credentials: Buffer.from('credentials') }
const LASTS_MS = 15_000

/** What every engine promises about the sessions of channels. */
export function sessionsAreStored({ it }: Suite, newWorld: NewWorld): void {
  it('stores a session, changes it, and removes it completely', async () => {
    const world = await newWorld()
    const { right, sender } = await heldSession(world)
    const all = [keyOf('session', 'a'), keyOf('session', 'b'), keyOf('pre-key', 'a')]
    await world.sessions.write(right, { ...FIRST, keys: all })
    const stored = await world.sessions.find(right)
    const changes = [keyOf('session', 'a', null), keyOf('session', 'b', Buffer.of(0, 255))]

    const isChanged = await world.sessions.write(right, { credentials: Buffer.from('new'), keys: changes })
    const changed = await world.sessions.find(right)
    const [sessions, preKeys] = await Promise.all(
      ['session', 'pre-key'].map((kind) => world.sessions.read(sender.connectionId, kind, ['a', 'b', 'c'])),
    )
    const isRemoved = await world.sessions.remove(right)
    const removed = [await world.sessions.find(right), await countKeys(world)]

    assert.deepEqual([stored?.row?.dataKey, textOf(stored?.row?.credentials)], ['sealed', 'credentials'])
    assert.deepEqual([isChanged, changed?.row?.dataKey, textOf(changed?.row?.credentials)], [true, 'sealed', 'new'])
    assert.deepEqual(bytesOf(sessions), { b: [0, 255] })
    assert.deepEqual(bytesOf(preKeys), { a: [...Buffer.from('pre-key a')] })
    assert.deepEqual([isRemoved, removed], [true, [{ holds: right.holds, row: null }, 0]])
    await world.close()
  })

  it('G8: keeps the sessions of connections apart', async () => {
    const world = await newWorld()
    const [one, other] = [await heldSession(world), await heldSession(world)]
    await world.sessions.write(one.right, { ...FIRST, keys: [keyOf('session', 'a')] })
    await world.sessions.write(other.right, { ...FIRST, keys: [keyOf('session', 'b')] })

    await world.sessions.remove(other.right)

    const { connectionId } = one.sender
    assert.deepEqual([...(await world.sessions.read(connectionId, 'session', ['a', 'b'])).keys()], ['a'])
    assert.equal((await world.sessions.find(other.right))?.row, null)
    await world.close()
  })

  it('writes no key of a session that is not stored, or was removed', async () => {
    const world = await newWorld()
    const { right } = await heldSession(world)
    const keys = [keyOf('session', 'a')]
    const before = await world.sessions.write(right, { keys })
    await world.sessions.write(right, FIRST)
    await world.sessions.remove(right)

    const after = [await world.sessions.write(right, { credentials: Buffer.from('new'), keys })]
    after.push(await world.sessions.remove(right))

    assert.deepEqual([before, after, await countKeys(world)], [false, [false, false], 0])
    await world.close()
  })

  it('does not replace a stored session, whose keys no other data key could decrypt', async () => {
    const world = await newWorld()
    const { right } = await heldSession(world)
    await world.sessions.write(right, FIRST)

    const again = await world.sessions.write(right, { ...FIRST, dataKey: 'other', keys: [keyOf('session', 'a')] })

    const dataKey = (await world.sessions.find(right))?.row?.dataKey
    assert.deepEqual([again, dataKey, await countKeys(world)], [false, 'sealed', 0])
    await world.close()
  })

  it('G6: shows a session only to the holder of the lane, and takes changes from no other worker', async () => {
    const world = await newWorld()
    const { right: late, sender } = await heldSession(world)
    await world.sessions.write(late, FIRST)
    await world.clock.pass(2 * LASTS_MS)
    const right = await rightOf(world, sender, BEN)

    const answers = [
      await world.sessions.find(late),
      await world.sessions.write(late, { credentials: Buffer.from('late'), keys: [keyOf('session', 'late')] }),
      await world.sessions.write(late, { reset: ['session'] }),
      await world.sessions.remove(late),
    ]

    const stored = await world.sessions.find(right)
    assert.deepEqual(answers, [null, false, false, false])
    assert.deepEqual([textOf(stored?.row?.credentials), await countKeys(world)], ['credentials', 0])
    await world.close()
  })

  it('G12: ends the right to a session when all lanes are held, and the next holder must reset it', async () => {
    const world = await newWorld()
    const { right, sender } = await heldSession(world)
    await world.sessions.write(right, { ...FIRST, keys: [keyOf('session', 'a'), keyOf('pre-key', 'b')] })

    await world.administration.holdLanes('the database may have gone back', 'test')
    const whileHeld = [await world.sessions.find(right), await world.sessions.write(right, FIRST)]
    await world.administration.releaseHold('test')
    const late = await world.sessions.write(right, { keys: [keyOf('session', 'late')] })
    const found = await world.sessions.find(right)
    const next = { ...right, holds: found?.holds ?? -1 }
    const isReset = await world.sessions.write(next, { reset: ['session'], keys: [keyOf('pre-key', 'c')] })
    const after = await world.sessions.find(right)

    assert.deepEqual([whileHeld, late, isReset], [[null, false], false, true])
    assert.notEqual(found?.row?.holds, found?.holds)
    assert.equal(after?.row?.holds, after?.holds)
    const kept = await world.sessions.read(sender.connectionId, 'pre-key', ['b', 'c'])
    assert.deepEqual([[...kept.keys()].sort(), await countKeys(world)], [['b', 'c'], 2])
    await world.close()
  })

  it('writes nothing if a change fails halfway', async () => {
    const world = await newWorld()
    const { right } = await heldSession(world)
    await world.sessions.write(right, FIRST)
    // The table refuses this kind, after the rest has been written.
    const wrong = { ...keyOf('session', 'b'), kind: null as unknown as string }

    await assert.rejects(
      world.sessions.write(right, { credentials: Buffer.from('new'), keys: [keyOf('session', 'a'), wrong] }),
    )

    const stored = await world.sessions.find(right)
    assert.deepEqual([textOf(stored?.row?.credentials), await countKeys(world)], ['credentials', 0])
    await world.close()
  })
}

/** What every engine promises about the lanes of connections with a stored session. */
export function lanesWithSessionsAreClaimed({ it }: Suite, newWorld: NewWorld): void {
  it('claims a lane that has only a session, and no lane without work and session', async () => {
    const world = await newWorld()
    const [sender] = [await idleSession(world), await addSender(world)]

    const claimed = await claim(world, ANNA)

    assert.deepEqual(
      claimed.map(({ connectionId, mayOpen, session }) => [connectionId, mayOpen, session]),
      [[sender.connectionId, true, 'keep']],
    )
    await world.close()
  })

  it('G2: gives the lane of a session to one worker at a time, with a new epoch each time', async () => {
    const world = await newWorld()
    await idleSession(world)
    const [annas] = await claim(world, ANNA)
    await beat(world, BEN)
    const whileHeld = await claim(world, BEN)

    await world.lanes.release(annas ? [annas] : [])
    const [bens] = await claim(world, BEN)

    assert.deepEqual([whileHeld, (bens?.epoch ?? 0) > (annas?.epoch ?? 0)], [[], true])
    await world.close()
  })

  it('claims the lane of a paused connection for its session, and that of a removed one to delete the session', async () => {
    const world = await newWorld()
    const { connectionId } = await idleSession(world)
    await world.administration.setConnectionState(connectionId, 'paused', 'test')
    const [paused] = await claim(world, ANNA)
    await world.administration.removeConnection(connectionId, true, 'test')
    const changed = paused && (await world.lanes.inspect(paused))
    await world.lanes.release(paused ? [paused] : [])

    const [removed] = await claim(world, ANNA)

    assert.deepEqual([paused?.mayOpen, paused?.session], [false, 'keep'])
    assert.deepEqual([changed?.session, removed?.mayOpen, removed?.session], ['remove', false, 'remove'])
    await world.close()
  })

  it('G12: claims no lane for its session while all lanes are held', async () => {
    const world = await newWorld()
    await idleSession(world)
    const [before] = await claim(world, ANNA)
    await world.administration.holdLanes('the database may have gone back', 'test')
    const changed = before && (await world.lanes.inspect(before))
    await world.lanes.release(before ? [before] : [])

    const whileHeld = await claim(world, ANNA)
    await world.administration.releaseHold('test')

    assert.deepEqual([changed?.session, whileHeld], ['end', []])
    assert.equal((await claim(world, ANNA)).length, 1)
    await world.close()
  })
}

/** What every engine promises about the requests of people about sessions. */
export function sessionRequestsAreCarried({ it }: Suite, newWorld: NewWorld): void {
  it('claims a lane that has only a request, until the request has ended', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const { of, requests } = requestsOf(world, sender)
    const { id } = await requests.request(of, 'qr', 'test')

    const [claimed] = await claim(world, ANNA)
    const seen = claimed && (await world.lanes.inspect(claimed))
    const found = claimed && (await world.sessions.findRequest(claimed))
    await requests.cancel(of, id, 'test')
    const unseen = claimed && (await world.lanes.inspect(claimed))
    const unfound = claimed && (await world.sessions.findRequest(claimed))
    await world.lanes.release(claimed ? [claimed] : [])

    assert.deepEqual([claimed?.session, claimed?.sessionRequest, seen?.sessionRequest], ['keep', id, id])
    assert.deepEqual([found?.id, found?.kind, found?.progress], [id, 'qr', { state: 'waiting' }])
    assert.equal(found?.watchedUntil, world.clock.now() + 60_000)
    assert.deepEqual([unseen?.sessionRequest, unfound], [null, null])
    assert.deepEqual(await claim(world, ANNA), [])
    await world.close()
  })

  it('refuses a request while all lanes are held, because no worker would handle it', async () => {
    const world = await newWorld()
    const { of, requests } = requestsOf(world, await addSender(world))
    await world.administration.holdLanes('the database may have gone back', 'test')

    await assert.rejects(requests.request(of, 'qr', 'test'), { code: 'lanes_held' })

    await world.administration.releaseHold('test')
    await requests.request(of, 'qr', 'test')
    await world.close()
  })

  it('shows reports of the lane’s worker, and takes none from another worker or after the end', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const { connectionId } = sender
    const { of, requests } = requestsOf(world, sender)
    const { id } = await requests.request(of, 'qr', 'test')
    const late = await holdLane(world, ANNA, connectionId)
    await world.clock.pass(2 * LASTS_MS)
    const lane = await holdLane(world, BEN, connectionId)
    const report = (state: 'showing' | 'ended', of_ = lane, request = id) =>
      world.sessions.report(of_, {
        connectionId,
        id: request,
        progress: { state },
        code: state === 'showing' ? 'sealed' : null,
        endsWaits: [],
        at: world.clock.now(),
      })

    const answers = [await report('showing', late), await report('showing', lane, 'req_other'), await report('showing')]
    const shown = await requests.watch(of, id)
    answers.push(await report('ended'), await report('showing'))
    const ended = await requests.watch(of, id)

    assert.deepEqual(answers, [false, false, true, true, false])
    assert.deepEqual([shown.progress, shown.code], [{ state: 'showing' }, 'sealed'])
    assert.deepEqual([ended.progress, ended.code], [{ state: 'ended' }, null])
    await world.close()
  })

  it('ends only the waits of the lane that it names', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender)
    const { connectionId } = sender
    const { of, requests } = requestsOf(world, sender)
    const lane = await holdLane(world, ANNA, connectionId)
    const until = world.clock.now() + 600_000
    const waits = (reason: string) =>
      world.sql(
        `update lane set wait_reason = '${reason}', wait_until = ${until} where connection_id = '${connectionId}'`,
      )
    const endOne = async () => {
      const { id } = await requests.request(of, 'qr', 'test')
      const progress = { state: 'ended', end: 'done' } as const
      const at = world.clock.now()
      await world.sessions.report(lane, { connectionId, id, progress, code: null, endsWaits: ['device_unlinked'], at })
      return (await world.lanes.inspect(lane))?.memory.wait?.until
    }

    await waits('device_unlinked')
    const ended = await endOne()
    await waits('rate_limited')
    const kept = await endOne()

    assert.deepEqual([ended, kept], [world.clock.now(), until])
    await world.close()
  })

  it('stores the status of a session from the lane’s worker only, and none for a removed connection', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender)
    const { connectionId } = sender
    const { of, requests } = requestsOf(world, sender)
    const late = await holdLane(world, ANNA, connectionId)
    await world.clock.pass(2 * LASTS_MS)
    const lane = await holdLane(world, BEN, connectionId)
    const status = (name: string) => ({ status: name, since: 1, code: 440, refusedUntil: null })
    await world.sessions.writeStatus(lane, status('ready'), { at: 5, device: '3', version: '2.3000.1' })
    await world.sessions.writeStatus(lane, status('connecting'), null)
    await world.sessions.writeStatus(late, status('late'), null)

    const found = await requests.read(of)
    await world.administration.removeConnection(connectionId, true, 'test')
    await world.sessions.writeStatus(lane, status('ready'), null)

    assert.deepEqual(found, {
      ...status('connecting'),
      isLinked: false,
      lastLogin: { at: 5, device: '3', version: '2.3000.1' },
    })
    assert.deepEqual(await world.sql('select * from session_status'), [])
    await world.close()
  })
}

function requestsOf(world: StorageWorld, { accountId, connectionId: id }: Sender) {
  return { of: { accountId, id }, requests: createDeviceSessions(world.store) }
}

/** A sender with a stored session, whose lane is free and has no work. */
async function idleSession(world: StorageWorld): Promise<Sender> {
  const sender = await addSender(world)
  const { connectionId } = sender
  const id = await accept(world, sender)
  const right = await rightOf(world, sender, ANNA)
  await world.sessions.write(right, FIRST)
  await world.administration.cancelMessage(id, 'test')
  await world.lanes.release([{ connectionId, epoch: right.epoch }])
  return sender
}

function keyOf(kind: string, id: string, value: Uint8Array | null = Buffer.from(`${kind} ${id}`)): SessionKey {
  return { kind, id, recipient: null, value }
}

/** A sender whose lane ANNA has claimed. */
async function heldSession(world: StorageWorld): Promise<{ sender: Sender; right: SessionRight }> {
  const sender = await addSender(world)
  await accept(world, sender)
  return { sender, right: await rightOf(world, sender, ANNA) }
}

async function rightOf(world: StorageWorld, { connectionId }: Sender, worker: typeof ANNA): Promise<SessionRight> {
  const { epoch } = await holdLane(world, worker, connectionId)
  const found = await world.sessions.find({ connectionId, epoch })
  assert.ok(found)
  return { connectionId, epoch, holds: found.holds }
}

async function countKeys(world: StorageWorld): Promise<number> {
  return Number((await world.sql('select count(*) as count from channel_session_key'))[0]?.['count'])
}

function bytesOf(found: ReadonlyMap<string, Uint8Array> | undefined): Record<string, number[]> {
  return Object.fromEntries([...(found ?? [])].map(([id, value]) => [id, [...value]]))
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes).toString()
}
