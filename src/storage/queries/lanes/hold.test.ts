import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'

let world: AdministrationWorld

describe.each(ENGINES)('the hold of all lanes, on %s', (engine) => {
  beforeEach(() => {
    world = new AdministrationWorld()
    return world.open(engine)
  })

  it('G12: is placed by a person, said of each lane that has something to do, and released by a person', async () => {
    const account = await world.account()
    await world.accept({ connectionId: await world.connection(account, '15550001000') })
    await world.connection(account, '15550001001')
    const reasons = async () => (await world.administration.listConnections(null)).map(({ reason }) => reason)

    const placed = await world.administration.holdLanes('restored the backup of Monday', 'anna')
    const [held, while_] = [await world.administration.readHold(), await reasons()]
    world.now += 1_000
    const released = await world.administration.releaseHold('ben')

    assert.deepEqual(placed, { since: NOON, reason: 'restored the backup of Monday' })
    assert.deepEqual(held, placed)
    assert.deepEqual(while_, ['database_went_back', null])
    assert.deepEqual(released, placed)
    assert.equal(await world.administration.readHold(), null)
    assert.deepEqual(await reasons(), [null, null])
  })

  it('G10 G12: is the reason of the messages behind one that is being sent, too', async () => {
    const connectionId = await world.connection(await world.account())
    const [first, second] = [await world.accept({ connectionId }), await world.accept({ connectionId })]
    await world.lane(connectionId, { owner: 'a living worker' })
    await world.openAttempt(connectionId, first.sequence)
    await world.administration.holdLanes('why', 'test')

    const [head, behind] = [
      await world.administration.explainMessage(first.id),
      await world.administration.explainMessage(second.id),
    ]
    const [connection] = await world.administration.listConnections(null)

    assert.equal(head.laneWait, null)
    assert.deepEqual([behind.laneWait?.reason, behind.laneWait?.words], ['database_went_back', 'why'])
    assert.equal(connection?.reason, 'database_went_back')
  })

  it('G12: notifies the service of each lane that may move again, and of no other', async () => {
    const account = await world.account()
    const [waiting, paused, empty] = [
      await world.connection(account, '15550001000'),
      await world.connection(account, '15550001001'),
      await world.connection(account, '15550001002'),
    ]
    await world.accept({ connectionId: waiting })
    await world.accept({ connectionId: waiting })
    await world.accept({ connectionId: paused })
    await world.accept({ connectionId: empty, state: 'PUBLISHED' })
    await world.administration.setConnectionState(paused, 'paused', 'test')
    await world.administration.holdLanes('why', 'test')
    const before = (await world.changedLanes()).length

    await world.administration.releaseHold('test')

    assert.deepEqual((await world.changedLanes()).slice(before), [waiting])
  })

  it('G12: doubts the attempt that is open then, and no later one of another message', async () => {
    const account = await world.account()
    const [held, free] = [
      await world.connection(account, '15550001000'),
      await world.connection(account, '15550001001'),
    ]
    const [first, second] = [await world.accept({ connectionId: held }), await world.accept({ connectionId: free })]
    await world.openAttempt(held, first.sequence)
    await world.administration.holdLanes('why', 'test')
    await world.administration.releaseHold('test')
    await world.openAttempt(free, second.sequence)

    const rows = await world.all(
      'select possibly_superseded_sequence as superseded from open_attempt order by message_sequence',
    )

    assert.deepEqual(
      rows.map(({ superseded }) => (superseded === null ? null : Number(superseded))),
      [first.sequence, null],
    )
  })

  it('G12: increases the count each time, so that a process with a later checkpoint does not hold the lanes again', async () => {
    const holds = async () => Number((await world.all('select holds from checkpoint'))[0]?.['holds'])
    const before = await holds()

    await world.administration.holdLanes('why', 'test')
    await world.administration.releaseHold('test')

    assert.equal(await holds(), before + 1)
  })

  it('refuses to hold twice, and to release what is not held', async () => {
    await assert.rejects(world.administration.releaseHold('test'), { code: 'lanes_not_held' })
    await world.administration.holdLanes('first', 'test')

    await assert.rejects(world.administration.holdLanes('second', 'test'), { code: 'lanes_held_already' })
    assert.equal((await world.administration.readHold())?.reason, 'first')
  })

  it('writes both into the audit log', async () => {
    await world.administration.holdLanes('why', 'anna')
    await world.administration.releaseHold('ben')

    const rows = await world.all('select actor, action, detail from audit order by sequence')

    assert.deepEqual(
      rows.map(({ actor, action }) => [actor, action]),
      [
        ['anna', 'hold.place'],
        ['ben', 'hold.release'],
      ],
    )
    assert.deepEqual(JSON.parse(String(rows[1]?.['detail'])), { since: NOON, reason: 'why' })
  })
})
