import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../core/ids.ts'
import type { LaneViews } from '../core/ports/console/lanes.ts'
import { createLaneViews } from '../storage/queries/lanes/lane-views.ts'
import { checkAttention } from './doctor/checks/check-attention.ts'
import type { Examination } from './doctor/examination.ts'
import { findAttention } from './find-attention.ts'

const WORDS = '30 of 30 new recipients were written to within 24 hours, so none is left.'

describe.each(ENGINES)('a lane of which each message waits for something of its own, on %s', (engine) => {
  let world: AdministrationWorld
  let views: LaneViews
  let accountId: AccountId

  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    views = createLaneViews(world.store)
    accountId = await world.account()
    return close
  })

  async function deferAll(number: string): Promise<ConnectionId> {
    const connectionId = await world.connection(accountId, number)
    const { sequence } = await world.accept({ connectionId })
    await world.lane(connectionId, { reason: 'all_deferred', until: NOON + 60_000 })
    const wait = { reason: 'new_recipients', words: WORDS, until: NOON + 5 * 3_600_000 }
    await world.defer(sequence, { kind: 'rate-limit', ...wait })
    return connectionId
  }

  async function reasons(lanes: LaneViews) {
    const { status } = await findAttention({ administration: world.administration, lanes }, accountId, world.now)
    return status.map(({ number, reason }) => [number, reason])
  }

  it('has the reason of its oldest message in doctor, too', async () => {
    await deferAll('15550001000')
    const session = { administration: world.administration, lanes: views }
    const examination = { openSession: async () => session, now: () => world.now } as unknown as Examination

    const [found] = await checkAttention(examination)

    assert.ok(found?.sentence.endsWith(WORDS), found?.sentence)
    assert.equal(found?.facts['reason'], 'new_recipients')
  })

  it('is read after the one before it, so that many need no more than one connection of the database', async () => {
    for (const number of ['15550001000', '15550001001', '15550001002']) await deferAll(number)
    let [running, most] = [0, 0]

    const found = await reasons({
      ...views,
      async findOldestWait(of) {
        most = Math.max(most, ++running)
        const wait = await views.findOldestWait(of)
        running -= 1
        return wait
      },
    })

    assert.equal(most, 1)
    assert.deepEqual(
      found.map(([, reason]) => reason),
      ['new_recipients', 'new_recipients', 'new_recipients'],
    )
  })

  it('keeps its own reason when its connection is removed meanwhile', async () => {
    const removed = await deferAll('15550001000')
    await deferAll('15550001001')

    const found = await reasons({
      ...views,
      async findOldestWait(of) {
        if (of.id === removed) await world.administration.removeConnection(removed, true, 'test')
        return views.findOldestWait(of)
      },
    })

    assert.deepEqual(found, [
      ['15550001000', 'all_deferred'],
      ['15550001001', 'new_recipients'],
    ])
  })

  it('fails when it cannot be read', async () => {
    await deferAll('15550001000')
    const findOldestWait = async () => Promise.reject(new Error('the database is away'))

    await assert.rejects(reasons({ ...views, findOldestWait }), /the database is away/)
  })
})
