import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { drain } from '../../support/black-box/collect-ledger.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import type { DeliveredEntry } from '../../support/ledger/ledger-input.ts'
import {
  assertHoldIsShown,
  assertNothingIsSent,
  cancelWhatWasSent,
  findSentTwice,
  splitLost,
  waitUntilHeld,
} from '../gone-back/check-after-hold.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { assertIsReady, assertOldPrimaryIsRefused } from './old-primary.ts'
import { ReplicatedCluster } from './replicated-cluster.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const seed = readSeed()
const CONNECTIONS = 8
// A call takes as long as its lane waits for the next message, so most lanes have an open attempt even on a busy machine.
const SLOW_SANDBOX = ['--set', 'latency=100ms']
const RUN_IN_MS = 2_000
const BEHIND_MS = 2_500
// Messages accepted before the standby falls behind, and as many afterwards.
const AT_STAKE = 40

describe('a failover to an asynchronous standby', () => {
  it(
    'G12: loses acknowledged messages, so all lanes are held, nothing is sent again, and the old primary is refused',
    async () => {
      for (let round = 0; round < rounds; round += 1) {
        const world = await ReplicatedCluster.open({
          workers: 2,
          connections: CONNECTIONS,
          connectionArguments: SLOW_SANDBOX,
          isSynchronous: false,
        })
        try {
          await failOver(world, seed + round)
        } finally {
          await world.close()
        }
      }
    },
    timeLimitMs(rounds),
  )
})

async function failOver(world: ReplicatedCluster, roundSeed: number): Promise<void> {
  const { client, connections, databaseUrl } = world.cluster
  const timed = new TimedClient(client)
  const load = new Load({ client: timed, connections, pauseMs: 100, keyedShare: 0.3, seed: roundSeed })
  load.start()
  await setTimeout(RUN_IN_MS)
  await load.waitForAcks(AT_STAKE)
  world.replication.blackHole()
  await setTimeout(BEHIND_MS)
  await load.waitForAcks(AT_STAKE)
  const old = world.primary
  await world.failOver()
  const heldAfterMs = await waitUntilHeld(world.cli)
  await assertNothingIsSent(world.cli)
  await assertHoldIsShown(world.cli, /^All lanes are held: a standby was promoted that /)
  await assertIsReady(world)
  await old.start()
  // It knows of everything that was delivered until then.
  const oldCli = new QuickCli({ dataDir: world.cluster.dataDir, databaseUrl })
  const truth = await oldCli.json<DeliveredEntry[]>('sandbox', 'inbox')
  await assertOldPrimaryIsRefused(world, old, timed)
  await load.stop()

  const cancelled = await cancelWhatWasSent(world.recorded, truth)
  await world.cli.json('hold', '--release')
  await drain(world.cli, 60_000)

  const { requests, lost } = await splitLost(world.cli, load.requests)
  const { counts, states, input } = await checkRun(world.recorded, requests, { mayLackMessages: true })
  const repeated = findSentTwice(truth, input.inbox)
  printTable('Failover, asynchronous', {
    seed: roundSeed,
    ...counts,
    ...states,
    'held after ms': heldAfterMs,
    'answered with 200, and lost by PostgreSQL': lost,
    'sent, and still waiting in what is left': cancelled,
    'sent twice': repeated.length,
    answers: JSON.stringify(load.answers),
  })
  assert.deepEqual(repeated, [])
  const spared = cancelled + (states['UNCONFIRMED'] ?? 0)
  assert.ok(lost > 0 && spared > 0, 'Nothing was lost, so nothing was shown')
}
