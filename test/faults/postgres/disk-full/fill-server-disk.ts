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
  /** Answers that say that nothing was accepted, or that it is unknown. */
  readonly refused: number
  readonly states: Readonly<Record<string, number>>
  /** For each round: the time from when there was room and the server ran until the next message was accepted. */
  readonly resumedAfterMs: readonly number[]
  /** How often the server ended because it could not write its log, and was started again. */
  readonly serverStarts: number
}

const DISK_MB = 400
const FULL_FOR_MS = 3_000
const NOTICED_WITHIN_MS = 30_000
const RESUMED_WITHIN_MS = 20_000
// With these the log soon needs a new file, for which there is no room.
const SETTINGS = { min_wal_size: '32MB', max_wal_size: '48MB', shared_buffers: '16MB' }

const { workDir, rounds, seed } = readRunArguments<{ rounds: number; seed: number }>()
// The server runs as another user.
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
    // Also takes what a checkpoint frees, until nothing can be committed.
    disk.fill()
    return refused() > before
  }
  await waitUntil('503 comes', isNoticed, { deadlineMs: NOTICED_WITHIN_MS })
  for (const { url } of services)
    await waitUntil('the service says why', async () => (await readBanner(url)) !== null, { deadlineMs: 20_000 })
  // A server that cannot write its log ends, and then its lanes cannot be read.
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
