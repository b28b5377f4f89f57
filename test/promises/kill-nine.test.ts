import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { killAgainAndAgain } from '../faults/kill-nine/kill-again-and-again.ts'
import { checkRun } from '../support/black-box/check-run.ts'
import { Load } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { openWorld } from '../support/black-box/world.ts'
import { findFalseQuarantines } from '../support/ledger/find-false-quarantines.ts'

const ROUNDS = 3
const CONNECTIONS = 6
// Slow enough that at any moment most lanes have an open attempt and messages behind it.
const SLOW_SANDBOX = ['--set', 'latency=30ms']

/** The short form of `test/faults/kill-nine.test.ts`, which also measures how fast lanes resume. */
describe('kill -9, a short run', () => {
  it('G1 G2 G3 G5: under load loses, duplicates and reorders nothing', async () => {
    const seed = Math.floor(Math.random() * 1_000_000)
    const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX })
    try {
      const { client, connections } = world
      const load = new Load({ client, connections, pauseMs: 40, keyedShare: 0.4, seed })
      load.start()

      const { killedAt } = await killAgainAndAgain(world.service, ROUNDS, createRandom(seed))

      await load.stop()
      const { counts, states, input } = await checkRun(world, load.requests)
      printTable('kill -9, a short run', { kills: killedAt.length, seed, ...counts, ...states })
      assert.deepEqual(findFalseQuarantines([...killedAt], input), [])
      assert.ok(load.ackedIds.length > 0, 'No message was at stake')
    } finally {
      await world.close()
    }
  })
})
