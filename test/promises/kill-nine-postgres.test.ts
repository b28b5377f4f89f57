import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { openCluster } from '../support/black-box/cluster.ts'
import { Load } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { findFalseQuarantines } from '../support/ledger/find-false-quarantines.ts'
import { memoryFolder } from '../support/postgres/memory-folder.ts'
import { PostgresServer } from '../support/postgres/postgres-server.ts'

const CONNECTIONS = 6
const SLOW_SANDBOX = ['--set', 'latency=30ms']
const UNDER_LOAD_MS = 1_500

/** The short form of `test/faults/postgres/kill-nine.test.ts`, which also measures how fast lanes are taken over. */
describe('kill -9 of workers on PostgreSQL, a short run', () => {
  it('G1 G2 G3 G5 G6: under load loses, duplicates and reorders nothing, and the other worker takes the lanes over', async () => {
    const seed = Math.floor(Math.random() * 1_000_000)
    const server = await PostgresServer.open({ parentFolder: memoryFolder() })
    const cluster = await openCluster({
      ...{ workers: 2, connections: CONNECTIONS, server },
      connectionArguments: SLOW_SANDBOX,
    })
    const [first, second] = cluster.services
    const killedAt: number[] = []
    const kill = async (...services: typeof cluster.services) => {
      killedAt.push(Date.now())
      await Promise.all(services.map((service) => service.killNine()))
    }
    try {
      const load = new Load({ ...cluster, pauseMs: 40, keyedShare: 0.4, seed })
      load.start()
      await setTimeout(UNDER_LOAD_MS)
      await kill(first!, second!)
      await second!.start()
      await setTimeout(UNDER_LOAD_MS)
      await kill(second!)
      await first!.start()
      await setTimeout(UNDER_LOAD_MS)

      await load.stop()
      const { counts, states, input } = await checkRun(cluster, load.requests)
      printTable('kill -9 on PostgreSQL, a short run', { seed, ...counts, ...states })
      assert.deepEqual(findFalseQuarantines(killedAt, input), [])
      assert.ok(load.ackedIds.length > 0, 'No message was at stake')
    } finally {
      await cluster.close()
      await server.close()
    }
  })
})
