import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { memoryFolder } from '../../support/postgres/memory-folder.ts'
import { PgBouncer, whyNoPgBouncer } from '../../support/postgres/pgbouncer.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import { answeredWithinMs, loadPauseMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { longestDeliveryGap } from './delivery-gap.ts'
import { PortSwitch } from './port-switch.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const obstacle = whyNoPgBouncer()
const WORKERS = 3
const CONNECTIONS = 12
// Far fewer than the dozen connections that each worker opens to the pool.
const POOL_SIZE = 6
const SLOW_SANDBOX = ['--set', 'latency=20ms']
const BETWEEN_MS = 3_000
// Messages accepted before each fault.
const AT_STAKE = 100
const AWAY_MS = 500
const RECOVERED_WITHIN_MS = 10_000
const ANSWERED_WITHIN_MS = answeredWithinMs()
const DATABASE = 'nuncio'

describe('a pooler in transaction mode, with fewer connections than the workers use', () => {
  it.skipIf(obstacle !== null)(
    `G1 G2 G3 G5 G11: serves everything except LISTEN, even migrations, and may be killed and restarted${skipNote(obstacle)}`,
    async () => {
      const server = await PostgresServer.open({ parentFolder: memoryFolder() })
      let pool = await openPool(server)
      const way = await PortSwitch.open(pool.port)
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SLOW_SANDBOX,
        server,
        urlOf: () => way.through(pool.url(DATABASE)),
        environment: { NUNCIO_DATABASE_LISTEN_URL: server.url(DATABASE) },
      })
      try {
        const { client, connections, dataDir, services } = cluster
        const timed = new TimedClient(client)
        const load = new Load({ client: timed, connections, pauseMs: loadPauseMs(60), keyedShare: 0.4, seed })
        const cli = new QuickCli({ dataDir, databaseUrl: way.through(pool.url(DATABASE)) })
        load.start()
        const backAt: number[] = []
        for (let round = 0; round < rounds; round += 1) {
          await setTimeout(BETWEEN_MS)
          await load.waitForAcks(AT_STAKE)
          await administer(cli, connections[0] ?? '')
          await pool.stop()
          await setTimeout(AWAY_MS)
          pool = await openPool(server)
          way.moveTo(pool.port)
          backAt.push(performance.now())
          await timed.untilAckAfter(backAt.at(-1) ?? 0)
        }
        await setTimeout(BETWEEN_MS)
        const sessions = await countSessions(server)
        await load.stop()

        const { counts, states, input } = await checkRun({ ...cluster, cli }, load.requests)

        const recoveredMs = backAt.map((moment) => timed.firstAckAfter(moment))
        printTable('Pooler in transaction mode', {
          rounds,
          seed,
          ...counts,
          ...states,
          'accepts again after ms': recoveredMs.join(', '),
          'slowest answer ms': timed.slowestMs,
          'longest standstill of a lane ms': longestDeliveryGap(input),
          'sessions of the pool': sessions,
          answers: JSON.stringify(load.answers),
        })
        assert.ok(services.every(({ isRunning }) => isRunning))
        assert.ok(sessions <= POOL_SIZE, `${sessions} sessions are past the pool`)
        assert.ok(Math.max(...recoveredMs) <= RECOVERED_WITHIN_MS, `It accepted again after ${recoveredMs} ms`)
        assert.ok(timed.slowestMs <= ANSWERED_WITHIN_MS, `An answer took ${timed.slowestMs} ms`)
        assert.equal((await cli.json<{ held: boolean }>('hold')).held, false)
      } finally {
        await cluster.close()
        await way.close()
        await pool.stop()
        await server.close()
      }
    },
    timeLimitMs(rounds),
  )
})

function openPool(server: PostgresServer): Promise<PgBouncer> {
  return PgBouncer.open({ serverUrl: server.url(), settings: { default_pool_size: POOL_SIZE } })
}

/** Does what people do beside the service, through the same pool. */
async function administer(cli: QuickCli, number: string): Promise<void> {
  await cli.json('connection', 'pause', number)
  await cli.json('connection', 'resume', number)
  await cli.json('attention')
  await cli.json('workers', '--lanes')
  const [message] = await cli.json<{ id: string }[]>('message', 'list', '--limit', '1')
  await cli.json('message', 'explain', message?.id ?? '')
  const name = `token ${performance.now()}`
  await cli.json('token', 'create', '--name', name, '--expires', '7d', '--event', 'messaging.send_message')
  await cli.json('token', 'delete', name)
}

/** Counts the sessions of the database, except those that listen. */
async function countSessions(server: PostgresServer): Promise<number> {
  const [row] = await server.query<{ count: string }>(
    `select count(*) from pg_stat_activity where datname = $1 and backend_type = 'client backend' and application_name <> 'nuncio listener'`,
    [DATABASE],
  )
  return Number(row?.count)
}
