import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { applyMigrations, type Migration, readMigrations } from '../../../src/storage/postgres/migrate.ts'
import { withConnection } from '../../../src/storage/postgres/open-database.ts'
import { openCluster } from '../../support/black-box/cluster.ts'
import { judgeRun } from '../../support/black-box/judge-run.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { withClient } from '../../support/postgres/postgres-server.ts'
import { readSeed } from '../run-length.ts'

const FUNCTIONS = new URL('../../../src/storage/postgres/functions/', import.meta.url)
const seed = readSeed()
const READ_FOR_MS = 5_000
const BEFORE_AND_AFTER_MS = 3_000

describe('a newer version that migrates under those that serve', () => {
  it('G1 G2 G3 G5: while somebody reads the tables for long, refuses, loses, doubles and reorders nothing', async () => {
    const cluster = await openCluster({ workers: 2, connections: 8, connectionArguments: ['--set', 'latency=10ms'] })
    try {
      const load = new Load({ ...cluster, pauseMs: 40, keyedShare: 0.4, seed })
      load.start()
      await setTimeout(BEFORE_AND_AFTER_MS)

      const began = performance.now()
      const reading = readForLong(cluster.databaseUrl)
      const result = await migrate(cluster.databaseUrl)
      const tookMs = Math.round(performance.now() - began)
      await reading
      await setTimeout(BEFORE_AND_AFTER_MS)

      await load.stop()
      const { counts, states } = await judgeRun(cluster, load.requests)
      printTable('migration under load, PostgreSQL', { seed, tookMs, ...counts, ...states })
      assert.equal(result.to - result.from, 2)
      assert.ok(tookMs > READ_FOR_MS)
      assert.deepEqual(Object.keys(load.answers), ['acked'])
      assert.deepEqual(Object.keys(states), ['PUBLISHED'])
    } finally {
      await cluster.close()
    }
  }, 180_000)
})

/** As a dump or a report does. */
async function readForLong(url: string): Promise<void> {
  await withClient(url, async (client) => {
    await client.query('begin; select from lane; select from queued')
    await setTimeout(READ_FOR_MS)
    await client.query('commit')
  })
}

/** What a later version may bring: more columns where everything happens, and functions anew that everybody calls. */
function migrate(url: string): Promise<{ from: number; to: number }> {
  const known = readMigrations()
  const functions = readdirSync(FUNCTIONS)
    .map((file) => readFileSync(new URL(file, FUNCTIONS), 'utf8'))
    .filter((sql) => !/^create (?!or replace)/m.test(sql))
  const later = (after: number, sql: string): Migration => {
    return { number: known.length + after, name: 'from-the-future', sql, breaking: false }
  }
  const columns = ['lane', 'queued', 'settled', 'lane_attempt'].map(
    (table) => `alter table ${table} add column more text;`,
  )
  const migrations = [...known, later(1, columns.join('\n')), later(2, functions.join('\n'))]
  return withConnection(url, (ask) => applyMigrations({ ask, appRole: null, place: 'here', migrations }))
}
