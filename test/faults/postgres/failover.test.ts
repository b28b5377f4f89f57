import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { answeredWithinMs, loadPauseMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { longestDeliveryGap } from './delivery-gap.ts'
import { ReplicatedCluster } from './replicated-cluster.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const seed = readSeed()
const CONNECTIONS = 10
const SLOW_SANDBOX = ['--set', 'latency=30ms']
const BETWEEN_MS = 3_000
// Messages accepted before each fault.
const AT_STAKE = 100
const RECOVERED_WITHIN_MS = 10_000
const ANSWERED_WITHIN_MS = answeredWithinMs()

describe('a failover to a synchronous standby', () => {
  it(
    'G1 G2 G3 G5 G12: loses nothing that was answered with 200, and the lanes continue by themselves',
    async () => {
      const world = await ReplicatedCluster.open({
        workers: 2,
        connections: CONNECTIONS,
        connectionArguments: SLOW_SANDBOX,
        isSynchronous: true,
      })
      try {
        const { client, connections, services } = world.cluster
        const timed = new TimedClient(client)
        const load = new Load({ client: timed, connections, pauseMs: loadPauseMs(40), keyedShare: 0.4, seed })
        load.start()
        const movedAt: number[] = []
        for (let round = 0; round < rounds; round += 1) {
          if (round > 0) await world.attachStandby()
          await world.noticedThatStandbyConfirms()
          await setTimeout(BETWEEN_MS)
          await load.waitForAcks(AT_STAKE)
          await world.failOver()
          movedAt.push(performance.now())
          await timed.untilAckAfter(movedAt.at(-1) ?? 0)
        }
        await setTimeout(BETWEEN_MS)
        await load.stop()

        const held = await world.cli.json<{ held: boolean }>('hold')
        const { counts, states, input } = await checkRun(world.recorded, load.requests)

        const recoveredMs = movedAt.map((moment) => timed.firstAckAfter(moment))
        printTable('Failover, synchronous', {
          rounds,
          seed,
          ...counts,
          ...states,
          'accepts again after ms': recoveredMs.join(', '),
          'slowest answer ms': timed.slowestMs,
          'longest standstill of a lane ms': longestDeliveryGap(input),
          answers: JSON.stringify(load.answers),
        })
        assert.equal(held.held, false)
        assert.ok(services.every(({ isRunning }) => isRunning))
        assert.ok(Math.max(...recoveredMs) <= RECOVERED_WITHIN_MS, `It accepted again after ${recoveredMs} ms`)
        assert.ok(timed.slowestMs <= ANSWERED_WITHIN_MS, `An answer took ${timed.slowestMs} ms`)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})
