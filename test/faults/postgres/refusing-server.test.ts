import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DatabaseError } from 'pg'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, type ClusterPlan, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { obstacleToDumping, openDumpingServer } from '../../support/postgres/dumping-server.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import { readSeed } from '../run-length.ts'
import { leaveTransactions } from './refusing-server/use-up-transactions.ts'

const seed = readSeed()
const WAIT_MS = 3_000
const ROLE = 'nuncio_app'
const WRITING = `insert, update, delete on all tables in schema public`
// Enough for some seconds.
const TRANSACTIONS = 4_000
const SOME = 100
const WITHIN_MS = 60_000
const PLAN = { workers: 2, connections: 8, connectionArguments: ['--set', 'latency=10ms'] }
const obstacle = obstacleToDumping()

describe('a server that refuses its usual statements for a while', () => {
  it('G1 G2 G3 G5 G11: because a right was revoked, costs no message its result', async () => {
    const server = await PostgresServer.open()
    await server.query(`create role ${ROLE} login password 'app'`)
    const roles = {
      environment: { NUNCIO_DATABASE_MIGRATE_URL: server.url('nuncio') },
      urlOf: (_: number, url: string) => url.replace(/\/\/[^@]+@/, `//${ROLE}:app@`),
    }
    await runOn(server, roles, async (load) => {
      await load.waitForAcks(SOME)
      await server.query(`revoke ${WRITING} from ${ROLE}`, [], 'nuncio')
      await setTimeout(WAIT_MS)
      const isRefused = async () => (load.answers['503 not_accepted'] ?? 0) > 0
      await waitUntil('something is refused', isRefused, { deadlineMs: WITHIN_MS })
      await server.query(`grant ${WRITING} to ${ROLE}`, [], 'nuncio')
      await load.waitForAcks(SOME)
      assert.deepEqual(Object.keys(load.answers).toSorted(), ['503 not_accepted', 'acked'])
    })
  })

  it.skipIf(obstacle !== null)(
    `G1 G2 G3 G5 G11: because its transaction ids are used up, costs no message its result${skipNote(obstacle)}`,
    async () => {
      const server = await openDumpingServer({ settings: { wal_level: 'logical', autovacuum_naptime: '1s' } })
      // A forgotten replication slot: while it exists, no vacuum helps.
      await server.query(`select pg_create_logical_replication_slot('forgotten', 'pgoutput')`)
      await runOn(server, {}, async (load) => {
        await setTimeout(WAIT_MS)
        await leaveTransactions(server, TRANSACTIONS)
        await load.waitForAcks(SOME)
        const { unsureAnswers } = load
        await load.waitForAcks(SOME)
        await waitUntil('its transactions are used up', () => isUsedUp(server), { deadlineMs: WITHIN_MS })
        await setTimeout(WAIT_MS)
        await server.query(`select pg_drop_replication_slot('forgotten')`)
        await load.waitForAcks(SOME)
        assert.deepEqual(load.unsureAnswers, unsureAnswers)
      })
    },
  )
})

async function isUsedUp(server: PostgresServer): Promise<boolean> {
  try {
    await server.query('select txid_current()')
    return false
  } catch (error) {
    return error instanceof DatabaseError && error.routine === 'GetNewTransactionId'
  }
}

async function runOn(
  server: PostgresServer,
  more: Partial<ClusterPlan>,
  meanwhile: (load: Load, cluster: Cluster) => Promise<void>,
): Promise<void> {
  const cluster = await openCluster({ ...PLAN, server, ...more })
  try {
    const load = new Load({ ...cluster, pauseMs: 40, keyedShare: 0.4, seed })
    load.start()
    await meanwhile(load, cluster)
    await load.stop()
    const { counts, states } = await checkRun(cluster, load.requests)
    printTable('a server that refuses for a while, PostgreSQL', { seed, ...counts, ...states })
    assert.deepEqual(Object.keys(states), ['PUBLISHED'])
    assert.deepEqual(findRecovered(cluster), [])
  } finally {
    await cluster.close()
    await server.close()
  }
}

/** Attempts whose end was lost. On most networks the result of their messages could not be found out. */
function findRecovered({ workDir, services }: Cluster): string[] {
  const logs = services.map((_, worker) => readFileSync(join(workDir, `service-${worker}.log`), 'utf8'))
  return logs.flatMap((log) => log.match(/.*"attempt\.recovered".*/g) ?? [])
}
