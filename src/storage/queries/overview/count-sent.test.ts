import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { Overview } from '../../../core/ports/console/overview.ts'
import { HOUR_MS } from './hours.ts'
import { createOverview } from './overview.ts'
import { TallyCounter } from './tally-counter.ts'

let world: AdministrationWorld
let overview: Overview
let account: AccountId

async function countHours(): Promise<void> {
  const counter = new TallyCounter(world.store, { wait: async () => {} })
  while (await counter.countNext());
}

describe.each(ENGINES)('what was sent, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    overview = createOverview(world.store)
    account = await world.account()
    return close
  })

  it('is counted by connection since an hour, of the counted hours and of the newest', async () => {
    await world.run('update account set created_at = ?', NOON - 13 * HOUR_MS)
    const [connectionId, idle] = [await world.connection(account), await world.connection(account, '15550001002')]
    const other = await world.connection(account, '15550001003')
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 13 * HOUR_MS })
    await world.accept({ connectionId, state: 'READ', acceptedAt: NOON - 5 * HOUR_MS })
    await world.accept({ connectionId, state: 'EXPIRED', acceptedAt: NOON - 5 * HOUR_MS })
    await world.accept({ connectionId: other, state: 'PUBLISHED', acceptedAt: NOON - 5 * HOUR_MS })
    const wantedSent = { accountId: account, connectionIds: [connectionId, idle], since: NOON - 12 * HOUR_MS }
    const early = await overview.countSent(wantedSent)
    await countHours()
    await world.accept({ connectionId, state: 'DELIVERED', acceptedAt: NOON - 5 })
    await world.accept({ connectionId, state: 'FAILED', reason: 'busy', acceptedAt: NOON - 4 })
    await world.accept({ connectionId, acceptedAt: NOON - 3 })

    assert.deepEqual(await overview.countSent(wantedSent), {
      items: [
        { connectionId, sent: 2, notSent: 2 },
        { connectionId: idle, sent: 0, notSent: 0 },
      ],
      isComplete: true,
    })
    assert.equal(early.isComplete, false)
  })

  it('is counted from the full hour before, and at most two days back', async () => {
    await world.run('update account set created_at = ?', NOON - 50 * HOUR_MS)
    const connectionId = await world.connection(account)
    for (const hoursAgo of [50, 49, 48, 7, 6, 5])
      await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - hoursAgo * HOUR_MS })
    await countHours()
    const sentSince = async (since: number) => {
      const { items } = await overview.countSent({ accountId: account, connectionIds: [connectionId], since })
      return items.map(({ sent }) => sent)
    }

    assert.deepEqual(await sentSince(NOON - 5.5 * HOUR_MS), [2])
    assert.deepEqual(await sentSince(0), [4])
  })

  it('is that of the counted hours alone where too much came of late', async () => {
    const connectionId = await world.connection(account)
    const other = await world.connection(account, '15550001002')
    await world.accept({ connectionId, state: 'PUBLISHED' })
    await world.acceptMany(1_001, other)
    await countHours()
    await world.accept({ connectionId, state: 'PUBLISHED' })
    const wantedSent = { accountId: account, connectionIds: [connectionId], since: NOON - 12 * HOUR_MS }

    assert.deepEqual(await overview.countSent(wantedSent), {
      items: [{ connectionId, sent: 1, notSent: 0 }],
      isComplete: true,
    })
  })

  it('is nothing without a connection, and nothing of a connection of others', async () => {
    const connectionId = await world.connection(await world.account('Others'), '15550001002')
    await world.accept({ connectionId: await world.connection(account), state: 'PUBLISHED' })
    await world.accept({ connectionId, state: 'PUBLISHED' })
    await countHours()
    const of = async (id: string) => {
      const wantedSent = { accountId: account, connectionIds: [id as ConnectionId], since: NOON - 12 * HOUR_MS }
      return (await overview.countSent(wantedSent)).items
    }

    assert.deepEqual([await of(''), await of(connectionId)], [[], []])
  })
})
