import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { judgeRun } from '../support/black-box/judge-run.ts'
import { Load } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom, type Random } from '../support/black-box/random.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import { findFalseQuarantines } from '../support/ledger/find-false-quarantines.ts'
import { measureResumption, type Uptime } from './kill-nine/measure-resumption.ts'
import { readRounds, readSeed } from './run-length.ts'

const rounds = readRounds(15)
const seed = readSeed()
const CONNECTIONS = 20
const KILL_WITHIN_MS = 2_000
// Some kills come while it is still starting, when it recovers what the kill before has left.
const SHARE_WHILE_STARTING = 0.15
const STARTING_MS = 400
const RESUMED_WITHIN_MS = 20_000

describe('kill -9', () => {
  it(
    'G1 G2 G3 G5: under load, again and again, loses, doubles and reorders nothing, and all lanes resume within 20 s',
    async () => {
      const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX })
      try {
        const { client, connections } = world
        const load = new Load({ client, connections, pauseMs: 80, keyedShare: 0.4, seed })
        load.start()

        const { uptimes, killedAt } = await killAgainAndAgain(world.service, createRandom(seed))

        await load.stop()
        const { counts, states, input } = await judgeRun(world, load.requests)
        const resumption = measureResumption(uptimes, input)
        printTable('kill -9', { rounds, seed, ...counts, ...states, ...resumption })
        assert.deepEqual(findFalseQuarantines(killedAt, input), [])
        assert.ok(resumption.lanesResumed >= rounds, `Only ${resumption.lanesResumed} lanes were seen to resume`)
        assert.ok(resumption.slowestMs <= RESUMED_WITHIN_MS, `A lane resumed after ${resumption.slowestMs} ms`)
      } finally {
        await world.close()
      }
    },
    120_000 + rounds * 10_000,
  )
})

// So slow that most lanes have an attempt open, and something waiting behind it, at any moment.
const SLOW_SANDBOX = ['--set', 'latency=30ms']

async function killAgainAndAgain(service: World['service'], random: Random) {
  const uptimes: Uptime[] = []
  const killedAt: number[] = []
  const kill = async () => {
    killedAt.push(Date.now())
    await service.killNine()
  }
  let readyAt = Date.now()
  for (let round = 0; round < rounds; round += 1) {
    await setTimeout(random.between(1, KILL_WITHIN_MS))
    await kill()
    uptimes.push({ readyAt, endedAt: Date.now() })
    if (random.next() < SHARE_WHILE_STARTING) {
      service.spawn()
      await setTimeout(random.between(1, STARTING_MS))
      await kill()
    }
    readyAt = await service.start()
  }
  return { uptimes: [...uptimes, { readyAt, endedAt: Number.POSITIVE_INFINITY }], killedAt }
}
