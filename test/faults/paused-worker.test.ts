import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { Load, someDeferred } from '../support/black-box/load.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { openWorld } from '../support/black-box/world.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const seed = readSeed()
// Longer than a claim lasts (15 s): it resumes with expired claims and open calls.
const PAUSED_MS = 18_000
// Accepted before it stands still, and as many after.
const AT_STAKE = 40

describe('a service that is stopped for longer than its claims last', () => {
  it(
    'G5 G6: resumes under load and sends nothing twice',
    async () => {
      const world = await openWorld({ connections: 10, connectionArguments: ['--set', 'latency=100ms'] })
      try {
        const { service, client, connections } = world
        const instead = someDeferred({ share: 0.2, ofEach: 2 })
        const load = new Load({ client, connections, pauseMs: 200, keyedShare: 0.3, seed, instead })
        load.start()
        for (let round = 0; round < rounds; round += 1) {
          await load.waitForAcks(AT_STAKE)
          service.signal('SIGSTOP')
          await setTimeout(PAUSED_MS)
          const { stdout } = await world.cli.run('attention')
          assert.ok(stdout.startsWith(`Process ${service.pid} holds the data, but shows no sign of life: `), stdout)
          service.signal('SIGCONT')
          await load.waitForAcks(AT_STAKE)
        }
        await load.stop()

        const { counts, states } = await checkRun(world, load.requests)

        printTable('SIGSTOP', { rounds, seed, pausedMs: PAUSED_MS, ...counts, ...states })
        assert.ok(service.isRunning, 'It ended instead of going on')
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})
