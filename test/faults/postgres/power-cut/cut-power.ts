import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkRun } from '../../../support/black-box/check-run.ts'
import { openCluster } from '../../../support/black-box/cluster.ts'
import { findFreePort } from '../../../support/black-box/free-port.ts'
import { Load } from '../../../support/black-box/load.ts'
import { NuncioProcess } from '../../../support/black-box/nuncio-process.ts'
import { readRunArguments, reportAndExit } from '../../../support/black-box/own-mounts.ts'
import { QuickCli } from '../../../support/black-box/quick-cli.ts'
import { CuttableDisk, mountStore } from '../../power-cut/cuttable-disk.ts'
import { checkCopy, openOnCopy, openOnDisk } from './check-copy.ts'

export interface ServiceReport {
  readonly cuts: number
  readonly acked: number
  /** For each cut: missing acknowledged messages, and what was wrong with the database, if anything. */
  readonly lost: readonly number[]
  readonly damage: readonly string[]
  /** Messages acknowledged before the last cut that a service started on the rest has processed. */
  readonly checked: number
}

// Of what was acknowledged, whatever the speed of the machine.
const ENOUGH = 150
const BETWEEN_CUTS_MS = 400
const CONNECTIONS = 6
const PAUSE_MS = 30
const DATABASE = 'nuncio'

const { workDir, cuts, seed } = readRunArguments<{ cuts: number; seed: number }>()
const disk = await CuttableDisk.open(await mountStore(workDir), 'service')
const server = await openOnDisk(disk)
const cluster = await openCluster({ workers: 2, connections: CONNECTIONS, server })
const { client, connections } = cluster
const load = new Load({ client, connections, pauseMs: PAUSE_MS, keyedShare: 0.2, seed, textLength: 400 })
load.start()
await load.waitForAcks(ENOUGH)

const lost: number[] = []
const damage: string[] = []
for (let cut = 1; cut < cuts; cut += 1) {
  const acked = load.ackedIds
  const copy = await disk.cut()
  const wanted = { password: server.password, database: DATABASE, sql: 'select id from message', acked }
  const result = await checkCopy(copy, wanted)
  lost.push(result.lost)
  if (result.damage !== null) damage.push(result.damage)
  await copy.remove()
  await setTimeout(BETWEEN_CUTS_MS)
}
const checked = await startOnLastCut()
const acked = load.ackedIds.length
await cluster.close()
await server.close()
reportAndExit({ cuts, acked, lost, damage, checked } satisfies ServiceReport)

/** Handles the last cut as an operator would: the machines come back, and everything is started. */
async function startOnLastCut(): Promise<number> {
  const before = new Set(load.ackedIds)
  const copy = await disk.cut()
  await load.stop()
  await Promise.all(cluster.services.map((service) => service.killNine()))
  const revived = await openOnCopy(copy, server.password)
  const databaseUrl = revived.url(DATABASE)
  // Its own folder: what the processes have stored since the cut is lost with the power, too.
  const dataDir = join(workDir, 'revived')
  const service = new NuncioProcess({
    dataDir,
    workDir,
    port: await findFreePort(),
    // The key ring is backed up separately, and survives the machine.
    environment: {
      NUNCIO_DATABASE_URL: databaseUrl,
      NUNCIO_KEY_RING_FILE: join(cluster.dataDir, 'keys', 'key-ring.json'),
    },
  })
  await service.start()
  // Requests that were answered after the cut may be stored or not: the copy was made at some time in between.
  const requests = load.requests.map((request) => {
    const { answer } = request
    const isCertain = answer.kind !== 'acked' || before.has(answer.messageId)
    return isCertain ? request : { ...request, answer: { kind: 'unknown' } as const }
  })
  await checkRun({ cli: new QuickCli({ dataDir, databaseUrl }), dataDir, databaseUrl }, requests)
  await service.stop()
  await revived.close()
  return before.size
}
