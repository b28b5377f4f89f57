import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { withClient } from '../../support/postgres/postgres-server.ts'
import { checkSweeps, killInSweeps, letWait, SWEEPING } from '../retention/kill-in-sweeps.ts'
import { type AskedDatabase, makeOldRows } from '../retention/old-rows.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'

const rounds = readRounds({ brief: 3, quick: 1 })
const seed = readSeed()
const CONNECTIONS = 6
const ROWS_OF_A_ROUND = 800

describe('kill -9 in the middle of deleting by age, on PostgreSQL', () => {
  it(
    'G1 G2 G3: leaves nothing half deleted, touches nothing unfinished, and the next sweep continues',
    async () => {
      const cluster = await openCluster({ workers: 2, connections: CONNECTIONS, environment: SWEEPING })
      try {
        const { client, services, databaseUrl } = cluster
        const [number = '', ...connections] = cluster.connections
        const database: AskedDatabase = {
          engine: 'PostgreSQL',
          ask: async (sql) => (await withClient(databaseUrl, (session) => session.query(sql))).rows,
        }
        const old = { rows: rounds * ROWS_OF_A_ROUND, waiting: await letWait(cluster, { client, number }) }
        await Promise.all(services.map((service) => service.stop()))
        await makeOldRows(database, old)
        await Promise.all(services.map((service) => service.start()))
        const load = new Load({ client, connections, pauseMs: 60, keyedShare: 0.4, seed })
        load.start()

        const lefts = await killInSweeps({
          database,
          rounds,
          random: createRandom(seed),
          kill: async () => void (await Promise.all(services.map((service) => service.killNine()))),
          start: () => Promise.all(services.map((service) => service.start())),
        })

        await load.stop()
        const { counts, states } = await checkSweeps({ ...cluster, database }, { load, old, number })
        const days = await database.ask('select number from period where number = 2')
        printTable('kill -9 in sweeps, PostgreSQL', { rounds, seed, left: lefts.join(' '), ...counts, ...states })
        assert.deepEqual(days, [], 'A day of which everything is old was not dropped')
        assert.ok(load.ackedIds.length > rounds * 10, `Only ${load.ackedIds.length} messages were at stake`)
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})
