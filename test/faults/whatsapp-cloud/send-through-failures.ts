import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Recorded } from '../../support/black-box/collect-ledger.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom, type Random } from '../../support/black-box/random.ts'
import type { SendClient } from '../../support/black-box/send-client.ts'
import type { Simulator } from '../../support/whatsapp-cloud/simulator-types.ts'
import { checkCloudRun } from './check-cloud-run.ts'
import { connectNumbers, countFailure, makeLoad, spoilCalls, waitToKill } from './cloud-run.ts'

const NUMBERS = 6
const AFTER_THE_LAST_MS = 2_000
// Messages accepted before each kill.
const AT_STAKE = 30

interface Troubled {
  readonly title: string
  readonly rounds: number
  readonly seed: number
  readonly simulator: Simulator
  /** The services, and where their data are. */
  readonly world: Recorded & { readonly client: Pick<SendClient, 'send'> }
  readonly cli: Pick<NuncioCli, 'json'>
  readonly serviceUrls: readonly string[]
  /** Kills services and starts them again. */
  readonly killAndStart: (round: number, random: Random) => Promise<void>
}

/** Sends from several numbers while the network is unreliable and services are killed. Then checks the results. */
export async function sendThroughFailures(plan: Troubled): Promise<void> {
  const { title, rounds, seed, simulator, world, cli, serviceUrls, killAndStart } = plan
  const connections = await connectNumbers(cli, simulator, { count: NUMBERS, serviceUrls })
  spoilCalls(simulator, Math.ceil(rounds / 2))
  const load = await makeLoad({ client: world.client, connections, seed })
  load.start()

  const random = createRandom(seed)
  for (let round = 0; round < rounds; round += 1) {
    await load.waitForAcks(AT_STAKE)
    await waitToKill(simulator, round, random)
    await killAndStart(round, random)
  }
  await setTimeout(AFTER_THE_LAST_MS)

  await load.stop()
  const { counts, states } = await checkCloudRun(world, load.requests, simulator)
  const error = countFailure(simulator)
  printTable(title, { rounds, seed, ...counts, ...states, ...error })
  assert.ok(error['cut off after acting'], 'No call was cut off')
}
