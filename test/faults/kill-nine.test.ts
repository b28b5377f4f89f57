import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { Load, someDeferred } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { openWorld } from '../support/black-box/world.ts'
import { findFalseQuarantines } from '../support/ledger/find-false-quarantines.ts'
import { killAgainAndAgain } from './kill-nine/kill-again-and-again.ts'
import { measureResumption } from './kill-nine/measure-resumption.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 15, quick: 4 })
const seed = readSeed()
const CONNECTIONS = 20
const RESUMED_WITHIN_MS = 20_000

describe('kill -9', () => {
  it(
    'G1 G2 G3 G5: repeated under load, loses, duplicates and reorders nothing, and all lanes resume within 20 s',
    async () => {
      const world = await openWorld({ connections: CONNECTIONS, connectionArguments: SLOW_SANDBOX })
      try {
        const { client, connections } = world
        const instead = someDeferred({ share: 0.2, ofEach: readRounds({ brief: 20, quick: 2 }) })
        const load = new Load({ client, connections, pauseMs: 80, keyedShare: 0.4, seed, instead })
        load.start()

        const { uptimes, killedAt } = await killAgainAndAgain(world.service, rounds, createRandom(seed))

        await load.stop()
        const { counts, states, input } = await checkRun(world, load.requests)
        const resumption = measureResumption(uptimes, input)
        printTable('kill -9', { rounds, seed, ...counts, ...states, ...resumption })
        assert.deepEqual(findFalseQuarantines(killedAt, input), [])
        assert.ok(resumption.lanesResumed >= rounds, `Only ${resumption.lanesResumed} lanes were seen to resume`)
        assert.ok(resumption.slowestMs <= RESUMED_WITHIN_MS, `A lane resumed after ${resumption.slowestMs} ms`)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})

// Slow enough that at any moment most lanes have an open attempt and messages behind it.
const SLOW_SANDBOX = ['--set', 'latency=30ms']
