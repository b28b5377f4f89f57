import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { checkRun } from '../../../support/black-box/check-run.ts'
import { openCluster } from '../../../support/black-box/cluster.ts'
import { Load } from '../../../support/black-box/load.ts'
import { readRunArguments, reportAndExit } from '../../../support/black-box/own-mounts.ts'
import { waitUntil } from '../../../support/black-box/wait-until.ts'
import { PostgresServer } from '../../../support/postgres/postgres-server.ts'
import { SmallDisk } from '../../disk-full/small-disk.ts'
import { assertCauseIsSaid, readBanner } from '../../disk-full/what-is-said.ts'

export interface ServerDiskFullReport {
  readonly acked: number
  /** Answers that nothing, or perhaps nothing, was accepted. */
  readonly refused: number
  readonly states: Readonly<Record<string, number>>
  /** How long after room was made, and the server ran again, the next message was accepted, per round. */
  readonly resumedAfterMs: readonly number[]
  /** How often the server itself had ended, because it could not write its log, and was started again. */
  readonly serverStarts: number
}

const DISK_MB = 400
const FULL_FOR_MS = 3_000
const NOTICED_WITHIN_MS = 30_000
const RESUMED_WITHIN_MS = 20_000
// So that the log soon wants a new file, and there is no room for it.
const SETTINGS = { min_wal_size: '32MB', max_wal_size: '48MB', shared_buffers: '16MB' }

const { workDir, rounds, seed } = readRunArguments<{ rounds: number; seed: number }>()
// The server runs as a user of its own.
chmodSync(workDir, 0o755)
const disk = new SmallDisk(workDir, DISK_MB)
const server = await PostgresServer.open({ parentFolder: disk.path, settings: SETTINGS })
const cluster = await openCluster({
  workers: 2,
  connections: 4,
  connectionArguments: ['--set', 'latency=10ms'],
  server,
})
const { client, connections, services } = cluster
const pids = services.map(({ pid }) => pid)
const load = new Load({ client, connections, pauseMs: 5, keyedShare: 0.3, seed, textLength: 2_000 })
load.start()
await waitUntil('the load is accepted', async () => load.ackedIds.length > 100, { deadlineMs: 20_000 })

let serverStarts = 0
const resumedAfterMs: number[] = []
for (let round = 0; round < rounds; round += 1) resumedAfterMs.push(await fillAndMakeRoom())
await load.stop()
const { counts, states } = await checkRun(cluster, load.requests)
assert.deepEqual(
  services.map(({ pid, isRunning }) => [pid, isRunning]),
  pids.map((pid) => [pid, true]),
)
const report = { acked: counts.acked, refused: refused(), states, resumedAfterMs, serverStarts }
await cluster.close()
await server.close()
reportAndExit(report satisfies ServerDiskFullReport)

async function fillAndMakeRoom(): Promise<number> {
  const before = refused()
  const isNoticed = async () => {
    // Whatever a checkpoint frees is taken again, until nothing can be committed.
    disk.fill()
    return refused() > before
  }
  await waitUntil('503 comes', isNoticed, { deadlineMs: NOTICED_WITHIN_MS })
  for (const { url } of services)
    await waitUntil('the service says why', async () => (await readBanner(url)) !== null, { deadlineMs: 20_000 })
  // A server that cannot write its log ends itself, and then it cannot be asked about lanes.
  if (server.isRunning) await assertCauseIsSaid(cluster.cli, /disk of the database server is full/)
  await setTimeout(FULL_FOR_MS)
  for (const service of services) assert.ok(await service.isAlive(), `A worker died of it:\n${service.log}`)

  disk.makeRoom()
  if (!server.isRunning) {
    serverStarts += 1
    await server.start()
  }
  const roomAt = performance.now()
  const accepted = load.ackedIds.length
  await waitUntil('messages are accepted again', async () => load.ackedIds.length > accepted, {
    withinMs: RESUMED_WITHIN_MS,
    everyMs: 10,
  })
  return Math.round(performance.now() - roomAt)
}

function refused(): number {
  return Object.entries(load.answers).reduce((sum, [name, count]) => sum + (name.startsWith('503 ') ? count : 0), 0)
}
