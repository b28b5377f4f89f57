import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { findFalseQuarantines } from '../../support/ledger/find-false-quarantines.ts'
import { answeredWithinMs, loadPauseMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { longestDeliveryGap } from './delivery-gap.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds({ brief: 3, quick: 1 })
const seed = readSeed()
const WORKERS = 2
const CONNECTIONS = 12
const SLOW_SANDBOX = ['--set', 'latency=30ms']
const BETWEEN_MS = 4_000
// Messages accepted before each fault.
const AT_STAKE = 100
// A request is answered with 503 after five seconds at the latest, plus the interval of the check and more on a busy machine.
const ANSWERED_WITHIN_MS = answeredWithinMs()
const RECOVERED_WITHIN_MS = 10_000

describe('PostgreSQL that crashes and comes back', () => {
  it(
    'G1 G2 G3 G5 G11: repeated under load, keeps no request waiting, loses nothing, and both workers continue by themselves',
    async () => {
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SLOW_SANDBOX,
      })
      try {
        const { client, connections, services } = cluster
        const timed = new TimedClient(client)
        const load = new Load({ client: timed, connections, pauseMs: loadPauseMs(60), keyedShare: 0.4, seed })
        load.start()

        const downs = await crashAgainAndAgain(cluster, load, timed)

        await load.stop()
        const { counts, states, input } = await checkRun(cluster, load.requests)
        const recoveredMs = downs.map(({ upAt }) => timed.firstAckAfter(upAt))
        printTable('PostgreSQL restarted (immediate)', {
          rounds,
          seed,
          ...counts,
          ...states,
          'down ms': downs.map(({ askedAt, upAt }) => Math.round(upAt - askedAt)).join(', '),
          'accepts again after ms': recoveredMs.join(', '),
          'slowest answer ms': timed.slowestMs,
          'longest standstill of a lane ms': longestDeliveryGap(input),
          answers: JSON.stringify(load.answers),
        })
        assert.ok(timed.slowestMs <= ANSWERED_WITHIN_MS, `An answer took ${timed.slowestMs} ms`)
        assert.ok(Math.max(...recoveredMs) <= RECOVERED_WITHIN_MS, `It accepted again after ${recoveredMs} ms`)
        assert.ok(services.every(({ isRunning }) => isRunning))
        // No worker has crashed, so no message may be blamed for a crash.
        assert.deepEqual(findFalseQuarantines([], input), [])
        assert.equal((await cluster.cli.json<{ held: boolean }>('hold')).held, false)
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})

interface Down {
  readonly askedAt: number
  readonly upAt: number
}

async function crashAgainAndAgain({ server }: Cluster, load: Load, timed: TimedClient): Promise<Down[]> {
  const downs: Down[] = []
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(BETWEEN_MS)
    await load.waitForAcks(AT_STAKE)
    const askedAt = performance.now()
    await server.restart('immediate')
    const upAt = performance.now()
    downs.push({ askedAt, upAt })
    await timed.untilAckAfter(upAt)
  }
  await setTimeout(BETWEEN_MS)
  return downs
}
