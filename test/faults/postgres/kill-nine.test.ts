import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import type { NuncioProcess } from '../../support/black-box/nuncio-process.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { findFalseQuarantines } from '../../support/ledger/find-false-quarantines.ts'
import { loadPauseMs, readRounds, readSeed, takenOverWithinMs, timeLimitMs } from '../run-length.ts'
import { describeDistribution, waitForDistribution } from './lane-distribution.ts'
import { LaneWatch } from './lane-watch.ts'
import { assertNoStandstill, findStandstills, type Loss } from './standstills.ts'

const rounds = readRounds({ brief: 4, quick: 1 })
const seed = readSeed()
const WORKERS = 4
const CONNECTIONS = 24
const KILL_WITHIN_MS = 1_500
// Messages accepted before each kill.
const AT_STAKE = 50
// The first round of the brief run kills all at once, which is the worst case. The other rounds are drawn.
const ALL_AT_ONCE_EVERY = 10
const SHARE_LEFT_DEAD = 0.15
const TAKEN_OVER_WITHIN_MS = takenOverWithinMs()
const DISTRIBUTED_WITHIN_MS = 30_000
const SLOW_SANDBOX = ['--set', 'latency=30ms']

describe('kill -9 of workers on PostgreSQL', () => {
  it(
    'G1 G2 G3 G5 G6: repeated under load, loses, duplicates and reorders nothing, and all lanes move again within 20 s',
    async () => {
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SLOW_SANDBOX,
      })
      try {
        const watch = await LaneWatch.open(cluster.server)
        const load = new Load({ ...cluster, pauseMs: loadPauseMs(80), keyedShare: 0.4, seed })
        const killer = new Killer(watch)
        load.start()

        await killAgainAndAgain(killer, load, cluster)
        const distribution = await killOneAndWait(killer, cluster)

        await load.stop()
        const { counts, states, input } = await checkRun(cluster, load.requests)
        const seen = { input, history: await watch.history(), losses: killer.losses }
        const facts = { rounds: rounds + 1, kills: killer.losses.length, seed, ...counts, ...states }
        printTable('kill -9, PostgreSQL', {
          ...facts,
          standstillMs: findStandstills(seen)[0]?.ms ?? 0,
          'lanes of each in the end': describeDistribution(distribution),
        })
        assert.deepEqual(findFalseQuarantines([...killer.killedAt], input), [])
        assertNoStandstill(TAKEN_OVER_WITHIN_MS, seen)
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})

async function killAgainAndAgain(killer: Killer, load: Load, { services }: Cluster): Promise<void> {
  const random = createRandom(seed)
  for (let round = 0; round < rounds; round += 1) {
    await load.waitForAcks(AT_STAKE)
    await setTimeout(random.between(100, KILL_WITHIN_MS))
    const drawn = random.next()
    const one = services[Math.floor(random.next() * services.length)]!
    const killed = round % ALL_AT_ONCE_EVERY === 0 ? services : [one]
    await killer.kill(...killed)
    // Most are started again at once, some only after the others have taken their lanes over.
    if (killed.length === 1 && drawn < SHARE_LEFT_DEAD) await setTimeout(TAKEN_OVER_WITHIN_MS)
    await Promise.all(killed.map((service) => service.start()))
  }
}

/** Kills one worker, waits until the others have its lanes, and starts it again. */
async function killOneAndWait(killer: Killer, cluster: Cluster) {
  await waitForDistribution(cluster, WORKERS, DISTRIBUTED_WITHIN_MS)
  const [first] = cluster.services
  await killer.kill(first!)
  await waitForDistribution(cluster, WORKERS - 1, DISTRIBUTED_WITHIN_MS)
  await first!.start()
  return waitForDistribution(cluster, WORKERS, DISTRIBUTED_WITHIN_MS)
}

/** Kills workers, and records which and when. */
class Killer {
  readonly losses: Loss[] = []
  readonly killedAt = new Set<number>()
  readonly #watch: LaneWatch

  constructor(watch: LaneWatch) {
    this.#watch = watch
  }

  async kill(...services: readonly NuncioProcess[]): Promise<void> {
    const pids = services.map(({ pid }) => pid)
    const at = Date.now()
    this.killedAt.add(at)
    await Promise.all(services.map((service) => service.killNine()))
    for (const pid of pids) {
      const worker = await waitUntil('the worker is known', () => this.#watch.workerOf(pid), { deadlineMs: 20_000 })
      this.losses.push({ at, worker })
    }
  }
}
