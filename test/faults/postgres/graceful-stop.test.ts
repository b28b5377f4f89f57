import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { movedOnWithinMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { describeDistribution, waitForDistribution } from './lane-distribution.ts'
import { LaneWatch } from './lane-watch.ts'
import { assertNoStandstill, findStandstills, type Loss } from './standstills.ts'

const rounds = readRounds({ brief: 3, quick: 1 })
const seed = readSeed()
const WORKERS = 4
const CONNECTIONS = 60
const SETTINGS = ['--set', 'latency=50ms']
const DISTRIBUTED_WITHIN_MS = 20_000
// Sixty lanes are drawn over five workers. Once in ten thousand runs one worker gets fewer than this.
const FEWEST_LANES = 2
const MOST_LANES = 27

describe('SIGTERM of workers on PostgreSQL', () => {
  it(
    'G2 G3 G4: repeated under load for one of four workers, leaves no attempt unknown, and the others get its lanes at once',
    async () => {
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SETTINGS,
      })
      try {
        const watch = await LaneWatch.open(cluster.server)
        const load = new Load({ ...cluster, pauseMs: 600, keyedShare: 0.3, seed })
        load.start()

        const { losses, slowestMs } = await stopAgainAndAgain(cluster, watch)
        await cluster.addWorker()
        const distribution = await waitUntil(
          'the fifth has its share',
          async () => {
            const now = await waitForDistribution(cluster, WORKERS + 1, DISTRIBUTED_WITHIN_MS)
            return Math.min(...now.lanes) >= FEWEST_LANES && now
          },
          { deadlineMs: DISTRIBUTED_WITHIN_MS },
        )

        await load.stop()
        const { counts, states, input } = await checkRun(cluster, load.requests)
        const seen = { input, history: await watch.history(), losses }
        const unknown = input.attempts?.filter(({ outcome }) => outcome === 'unknown') ?? []
        const { lanes } = distribution
        printTable('SIGTERM of workers, PostgreSQL', {
          ...{ rounds, seed, ...counts, ...states, 'unknown attempts': unknown.length, slowestMs },
          standstillMs: findStandstills(seen)[0]?.ms ?? 0,
          'lanes of each with a fifth': describeDistribution(distribution),
        })
        assert.deepEqual(unknown, [])
        assert.equal(states['UNCONFIRMED'], undefined)
        // A stopping worker releases each lane when its call ends, and notifies the others, so no claim has to expire. The wait
        // is at most one call and the time until the others poll.
        assertNoStandstill(movedOnWithinMs(), seen)
        assert.ok(Math.min(...lanes) >= FEWEST_LANES && Math.max(...lanes) <= MOST_LANES, `Lanes: ${lanes.join(' ')}`)
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})

async function stopAgainAndAgain({ services }: Cluster, watch: LaneWatch) {
  const random = createRandom(seed)
  const losses: Loss[] = []
  let slowestMs = 0
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(500, 2_000))
    const service = services[Math.floor(random.next() * services.length)]!
    const worker = await waitUntil('the worker is known', () => watch.workerOf(service.pid), { deadlineMs: 20_000 })
    const at = Date.now()
    service.signal('SIGTERM')
    assert.deepEqual(await service.ended(30_000), { code: 0, signal: null })
    losses.push({ at, worker })
    slowestMs = Math.max(slowestMs, Date.now() - at)
    // The others take its lanes over before it is back, and then return them.
    await setTimeout(random.between(0, 3_000))
    await service.start()
  }
  return { losses, slowestMs }
}
