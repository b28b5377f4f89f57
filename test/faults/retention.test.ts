import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'vitest'
import { findDatabase } from '../support/black-box/collect-ledger.ts'
import { Load } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { openWorld } from '../support/black-box/world.ts'
import { checkSweeps, killInSweeps, letWait, SWEEPING } from './retention/kill-in-sweeps.ts'
import { type AskedDatabase, makeOldRows } from './retention/old-rows.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 4, quick: 2 })
const seed = readSeed()
const CONNECTIONS = 6
const ROWS_OF_A_ROUND = 1_200

describe('kill -9 in the middle of deleting by age', () => {
  it(
    'G1 G2 G3: leaves nothing half deleted, touches nothing unfinished, and the next start continues',
    async () => {
      const world = await openWorld({ connections: CONNECTIONS, environment: SWEEPING })
      const file = new DatabaseSync(findDatabase(world.dataDir), { timeout: 10_000 })
      try {
        const { client, service } = world
        const [number = '', ...connections] = world.connections
        const database: AskedDatabase = { engine: 'SQLite', ask: async (sql) => file.prepare(sql).all() }
        const old = { rows: rounds * ROWS_OF_A_ROUND, waiting: await letWait(world, { client, number }) }
        await service.stop()
        await makeOldRows(database, old)
        await service.start()
        const load = new Load({ client, connections, pauseMs: 60, keyedShare: 0.4, seed })
        load.start()

        const lefts = await killInSweeps({
          database,
          rounds,
          random: createRandom(seed),
          kill: () => service.killNine(),
          start: () => service.start(),
        })

        await load.stop()
        const { counts, states } = await checkSweeps({ ...world, database }, { load, old, number })
        printTable('kill -9 in sweeps', { rounds, seed, left: lefts.join(' '), ...counts, ...states })
        assert.ok(load.ackedIds.length > rounds * 10, `Only ${load.ackedIds.length} messages were at stake`)
      } finally {
        file.close()
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})
