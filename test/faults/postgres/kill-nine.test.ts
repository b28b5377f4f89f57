import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { judgeRun } from '../../support/black-box/judge-run.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom, type Random } from '../../support/black-box/random.ts'
import { findFalseQuarantines } from '../../support/ledger/find-false-quarantines.ts'
import { readRounds, readSeed } from '../run-length.ts'
import { longestStandstill } from './longest-standstill.ts'

const rounds = readRounds(12)
const seed = readSeed()
const WORKERS = 4
const CONNECTIONS = 24
const KILL_WITHIN_MS = 3_000
// A dead worker's claims run out after 15 s, and somebody looks every two.
const TAKEN_OVER_WITHIN_MS = 20_000
// Some are started again at once, some only after the others have taken their lanes over.
const SHARE_LEFT_DEAD = 0.25
const LEFT_DEAD_MS = 18_000
const SLOW_SANDBOX = ['--set', 'latency=30ms']

describe('kill -9 of one of four workers on PostgreSQL', () => {
  it(
    'G1 G2 G3 G5 G6: under load, again and again, loses, doubles and reorders nothing, and all lanes resume within 20 s',
    async () => {
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SLOW_SANDBOX,
      })
      try {
        const { client, connections } = cluster
        const load = new Load({ client, connections, pauseMs: 80, keyedShare: 0.4, seed })
        load.start()

        const killedAt = await killAgainAndAgain(cluster, createRandom(seed))

        await load.stop()
        const { counts, states, input } = await judgeRun(cluster, load.requests)
        const standstillMs = longestStandstill(input)
        printTable('kill -9, PostgreSQL', { rounds, seed, workers: WORKERS, ...counts, ...states, standstillMs })
        assert.deepEqual(findFalseQuarantines(killedAt, input), [])
        assert.ok(standstillMs <= TAKEN_OVER_WITHIN_MS, `A lane stood still for ${standstillMs} ms`)
        assert.ok(load.ackedIds.length > rounds * 50, `Only ${load.ackedIds.length} messages were at stake`)
      } finally {
        await cluster.close()
      }
    },
    150_000 + rounds * 20_000,
  )
})

async function killAgainAndAgain({ services }: Cluster, random: Random): Promise<number[]> {
  const killedAt: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(100, KILL_WITHIN_MS))
    const service = services[Math.floor(random.next() * services.length)]
    killedAt.push(Date.now())
    await service?.killNine()
    if (random.next() < SHARE_LEFT_DEAD) await setTimeout(LEFT_DEAD_MS)
    await service?.start()
  }
  return killedAt
}
