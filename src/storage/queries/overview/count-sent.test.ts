import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId } from '../../../core/ids.ts'
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
      items: [{ connectionId, sent: 2, notSent: 2 }],
      isComplete: true,
    })
    assert.equal(early.isComplete, false)
  })
})
