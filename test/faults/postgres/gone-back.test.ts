import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import type { DeliveredEntry } from '../../support/ledger/ledger-input.ts'
import { memoryFolder } from '../../support/postgres/memory-folder.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import {
  assertHoldIsShown,
  assertNothingIsSent,
  cancelWhatWasSent,
  findSentTwice,
  isHeld,
  splitLost,
  waitUntilHeld,
} from '../gone-back/check-after-hold.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const restarts = readRounds({ brief: 4, quick: 1 })
const seed = readSeed()
const CONNECTIONS = 8
const SLOW_SANDBOX = ['--set', 'latency=30ms']
// Messages accepted before and after the copy.
const RUN_IN = 300
const KILL_WITHIN_MS = 1_500
const run = promisify(execFile)

describe('PostgreSQL restored from an older copy', () => {
  it(
    'G12: holds all lanes and sends nothing again until a person releases them',
    async () => {
      const { server, cluster, close } = await openWorld()
      try {
        const { client, connections } = cluster
        // Enough load that most lanes have an open attempt when the copy is made.
        const load = new Load({ client, connections, pauseMs: 20, keyedShare: 0.3, seed })
        let [lost, cancelled] = [0, 0]
        let requests: Load['requests'] = []
        for (let round = 0; round < rounds; round += 1) {
          load.start()
          await load.waitForAcks(RUN_IN)
          const backup = await copyData(server, cluster.workDir)
          await load.waitForAcks(RUN_IN)
          await load.stop()
          const truth = await cluster.cli.json<DeliveredEntry[]>('sandbox', 'inbox')
          await endAll(cluster)
          await putBack(server, backup)
          await startAll(cluster)
          await waitUntilHeld(cluster.cli)
          load.start()
          await assertNothingIsSent(cluster.cli)
          await load.stop()
          await assertHoldIsShown(cluster.cli, /^All lanes are held: it is an older state of the database/)
          cancelled += await cancelWhatWasSent(cluster, truth)
          await cluster.cli.json('hold', '--release')

          const split = await splitLost(cluster.cli, load.requests)
          const { input } = await checkRun(cluster, split.requests)
          requests = split.requests as Load['requests']
          lost = split.lost
          assert.deepEqual(findSentTwice(truth, input.inbox), [])
        }
        const { counts, states } = await checkRun(cluster, requests)
        const spared = cancelled + (states['UNCONFIRMED'] ?? 0)
        printTable('PostgreSQL put back to an older copy', {
          rounds,
          seed,
          ...counts,
          ...states,
          'answered with 200, and not in the copy': lost,
          'sent, and waiting in the copy': cancelled,
          answers: JSON.stringify(load.answers),
        })
        assert.ok(lost > 0 && spared > 0, 'Nothing was forgotten, so nothing was shown')
      } finally {
        await close()
      }
    },
    timeLimitMs(rounds),
  )
})

describe('PostgreSQL that has not gone back', () => {
  it(
    'G12: holds no lane, however often everything is killed and started again',
    async () => {
      const { server, cluster, close } = await openWorld()
      try {
        const { client, connections } = cluster
        const load = new Load({ client, connections, pauseMs: 40, keyedShare: 0.3, seed })
        const random = createRandom(seed)
        load.start()
        let held = 0
        for (let restart = 0; restart < restarts; restart += 1) {
          await setTimeout(random.between(100, KILL_WITHIN_MS))
          const crash = restart % 2 === 0 ? server.restart('immediate') : Promise.resolve()
          if (restart % 4 !== 2) await Promise.all(cluster.services.map((service) => service.killNine()))
          await crash
          await startAll(cluster)
          if (await isHeld(cluster.cli)) held += 1
        }
        await load.stop()

        const { counts, states } = await checkRun(cluster, load.requests)

        printTable('PostgreSQL, everything killed', { restarts, seed, ...counts, ...states, held })
        assert.equal(held, 0)
      } finally {
        await close()
      }
    },
    timeLimitMs(restarts),
  )
})

async function openWorld() {
  const server = await PostgresServer.open({ parentFolder: memoryFolder() })
  const cluster = await openCluster({
    workers: 2,
    connections: CONNECTIONS,
    connectionArguments: SLOW_SANDBOX,
    server,
  })
  const close = async () => {
    await cluster.close()
    await server.close()
  }
  return { server, cluster, close }
}

/** Copies the files of the stopped server, as a backup of files does. */
async function copyData(server: PostgresServer, workDir: string): Promise<string> {
  const backup = join(workDir, 'backup')
  rmSync(backup, { recursive: true, force: true })
  await server.stop('fast')
  await run('cp', ['-a', server.dataFolder, backup])
  await server.start()
  return backup
}

async function putBack(server: PostgresServer, backup: string): Promise<void> {
  await server.stop('fast')
  rmSync(server.dataFolder, { recursive: true })
  await run('cp', ['-a', backup, server.dataFolder])
  await server.start()
}

/** Stops the first worker in order, and kills the others. */
async function endAll({ services: [first, ...others] }: Cluster): Promise<void> {
  await first?.stop()
  await Promise.all(others.map((service) => service.killNine()))
}

async function startAll({ services }: Cluster): Promise<void> {
  await Promise.all(services.filter(({ isRunning }) => !isRunning).map((service) => service.start()))
}
