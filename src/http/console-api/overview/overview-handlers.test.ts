import assert from 'node:assert/strict'
import { it } from 'vitest'
import type { ConsoleDeps } from '../console-deps.ts'
import { overviewHandlers } from './overview-handlers.ts'

it('reads what lanes wait for one after the other, so that many need no more than one connection of the database', async () => {
  let [running, most] = [0, 0]
  const lane = { connectionId: 'con', number: '15550001000', reason: 'all_deferred', words: null, until: null }
  const lanes = {
    async findOldestWait() {
      most = Math.max(most, ++running)
      await Promise.resolve()
      running -= 1
      return { reason: 'new_recipients', words: null, until: 1 }
    },
  }
  const overview = { readOverview: async () => ({ lanes: [lane, lane, lane], bars: [], hold: null }) }
  const deps = { store: { overview, lanes }, keeps: {} } as unknown as Pick<ConsoleDeps, 'store' | 'keeps'>

  const asked = { query: { range: '24h' } } as never
  const seen = await overviewHandlers(deps).readOverview(asked, { accountId: 'acc', role: 'owner' } as never)

  assert.deepEqual([seen.lanes.map(({ until }) => until), most], [[1, 1, 1], 1])
})
