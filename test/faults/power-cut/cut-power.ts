import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { checkRun } from '../../support/black-box/check-run.ts'
import { findDatabase } from '../../support/black-box/collect-ledger.ts'
import { findFreePort } from '../../support/black-box/free-port.ts'
import { Load } from '../../support/black-box/load.ts'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { readRunArguments, reportAndExit } from '../../support/black-box/own-mounts.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { openWorld } from '../../support/black-box/world.ts'
import { checkCopy } from './check-copy.ts'
import { CuttableDisk, mountStore } from './cuttable-disk.ts'

export interface ServiceReport {
  readonly cuts: number
  readonly acked: number
  /** For each cut: missing acknowledged messages, and what was wrong with the database, if anything. */
  readonly lost: readonly number[]
  readonly damage: readonly string[]
  /** Messages acknowledged before the last cut that a service started on the rest has processed. */
  readonly checked: number
}

const RUN_IN_MS = 8_000
// The number of acknowledged messages that a run needs, however fast the machine is.
const ENOUGH = 1_000
const BETWEEN_CUTS_MS = 400
// Together they send about 300 messages a second.
const CONNECTIONS = 6
const PAUSE_MS = 30

const { workDir, cuts, seed } = readRunArguments<{ cuts: number; seed: number }>()
const disk = await CuttableDisk.open(await mountStore(workDir), 'service')
const world = await openWorld({ connections: CONNECTIONS, place: { workDir, dataDir: join(disk.path, 'data') } })
const { client, connections } = world
const load = new Load({ client, connections, pauseMs: PAUSE_MS, keyedShare: 0.2, seed, textLength: 400 })
load.start()
await setTimeout(RUN_IN_MS)
await waitUntil('enough is at stake', async () => load.ackedIds.length > ENOUGH, { deadlineMs: 60_000 })

const lost: number[] = []
const damage: string[] = []
for (let cut = 1; cut < cuts; cut += 1) {
  const acked = load.ackedIds
  const copy = await disk.cut()
  const result = checkCopy(findDatabase(join(copy.path, 'data')), acked, 'select id from message')
  lost.push(result.lost)
  if (result.integrity !== 'ok') damage.push(result.integrity)
  await copy.remove()
  await setTimeout(BETWEEN_CUTS_MS)
}
const acked = load.ackedIds.length
const checked = await startOnLastCut()
reportAndExit({ cuts, acked, lost, damage, checked } satisfies ServiceReport)

/** Handles the last cut as an operator would: the machine comes back and the service is started. */
async function startOnLastCut(): Promise<number> {
  const before = new Set(load.ackedIds)
  const copy = await disk.cut()
  await load.stop()
  await world.service.killNine()
  const dataDir = join(copy.path, 'data')
  const revived = new NuncioProcess({ dataDir, workDir, port: await findFreePort() })
  await revived.start()
  // Requests that were answered after the cut may be stored or not: the copy was made at some time in between.
  const requests = load.requests.map((request) => {
    const { answer } = request
    const isCertain = answer.kind !== 'acked' || before.has(answer.messageId)
    return isCertain ? request : { ...request, answer: { kind: 'unknown' } as const }
  })
  await checkRun({ cli: new NuncioCli({ dataDir, workDir }), dataDir }, requests)
  return before.size
}
