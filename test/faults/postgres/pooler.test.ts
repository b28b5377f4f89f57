import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { judgeRun } from '../../support/black-box/judge-run.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { findFalseQuarantines } from '../../support/ledger/find-false-quarantines.ts'
import { PgBouncer, type PoolOptions, whyNoPgBouncer } from '../../support/postgres/pgbouncer.ts'
import { PostgresServer, withClient } from '../../support/postgres/postgres-server.ts'
import { readRounds, readSeed } from '../run-length.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds(2)
const seed = readSeed()
const WORKERS = 3
const CONNECTIONS = 12
// Far fewer than the workers open to it, so that every statement may land on another connection than the one before.
const POOL_SIZE = 6
const BETWEEN_MS = 3_000
const DOWN_MS = 1_000
// A request is answered with 503 after five seconds; the look at it comes every fifth quarter of them, on a busy machine.
const ANSWERED_WITHIN_MS = 7_500
const RECOVERED_WITHIN_MS = 10_000

const obstacle = whyNoPgBouncer()

describe.skipIf(obstacle !== null)(`all but LISTEN by way of PgBouncer${skipNote(obstacle)}`, () => {
  it(
    'G1 G2 G3 G5 G11: from the first migration on, and while it is killed again and again, loses, doubles and reorders nothing',
    async () => {
      const server = await PostgresServer.open()
      const place = { serverUrl: server.url('postgres'), settings: { default_pool_size: POOL_SIZE } }
      let pool = await PgBouncer.open(place)
      let cluster: Cluster | null = null
      try {
        cluster = await openCluster({
          workers: WORKERS,
          connections: CONNECTIONS,
          connectionArguments: ['--set', 'latency=30ms'],
          server,
          urlOf: () => pool.url('nuncio'),
          environment: { NUNCIO_DATABASE_LISTEN_URL: server.url('nuncio') },
        })
        const { client, connections, services, dataDir } = cluster
        const cli = new QuickCli({ dataDir, databaseUrl: pool.url('nuncio') })
        const timed = new TimedClient(client)
        const load = new Load({ client: timed, connections, pauseMs: 60, keyedShare: 0.4, seed })
        load.start()

        const upAt: number[] = []
        let mostOnServer = 0
        for (let round = 0; round < rounds; round += 1) {
          await setTimeout(BETWEEN_MS)
          mostOnServer = Math.max(mostOnServer, await countOnServer(server))
          pool = await killAndReplace(pool, place)
          upAt.push(performance.now())
        }
        await setTimeout(BETWEEN_MS)

        await load.stop()
        const { counts, states, input } = await judgeRun(
          { cli, dataDir, databaseUrl: pool.url('nuncio') },
          load.requests,
        )
        const recoveredMs = upAt.map((moment) => timed.firstAckAfter(moment))
        printTable('PgBouncer killed under load', {
          rounds,
          seed,
          ...counts,
          ...states,
          'connections on the server': `${mostOnServer} (pool ${POOL_SIZE}, listening ${WORKERS})`,
          'accepts again after ms': recoveredMs.join(', '),
          'slowest answer ms': timed.slowestMs,
          answers: JSON.stringify(load.answers),
        })
        // Direct ways would be some fifteen for each worker.
        assert.ok(mostOnServer <= POOL_SIZE + WORKERS, `${mostOnServer} connections: not all went through the pool`)
        assert.ok(timed.slowestMs <= ANSWERED_WITHIN_MS, `An answer took ${timed.slowestMs} ms`)
        assert.ok(Math.max(...recoveredMs) <= RECOVERED_WITHIN_MS, `It accepted again after ${recoveredMs} ms`)
        assert.ok(services.every(({ isRunning }) => isRunning))
        assert.ok(load.ackedIds.length > rounds * 100, `Only ${load.ackedIds.length} messages were at stake`)
        assert.deepEqual(findFalseQuarantines([], input), [])
        assert.equal((await cli.json<{ held: boolean }>('hold')).held, false)
      } finally {
        await cluster?.close()
        await pool.stop()
        await server.close()
      }
    },
    120_000 + rounds * 30_000,
  )
})

async function killAndReplace(pool: PgBouncer, place: PoolOptions): Promise<PgBouncer> {
  await pool.stop('SIGKILL')
  await setTimeout(DOWN_MS)
  return await PgBouncer.open({ ...place, port: pool.port })
}

/** Ours is not among them. */
async function countOnServer(server: PostgresServer): Promise<number> {
  const sql = `select count(*)::int as n from pg_stat_activity where datname = 'nuncio' and backend_type = 'client backend'`
  return await withClient(server.url('postgres'), async (client) => (await client.query(sql)).rows[0].n)
}
