import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkRun } from '../support/black-box/check-run.ts'
import { Load } from '../support/black-box/load.ts'
import type { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { Supervisor } from '../support/black-box/supervisor.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld } from '../support/black-box/world.ts'
import { findFalseQuarantines } from '../support/ledger/find-false-quarantines.ts'
import { fail, faultEnvironment, heal, whyNoFaults } from './fsync-error/system-calls.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 4, quick: 2 })
const seed = readSeed()
const obstacle = whyNoFaults()
const EIO = 5
const ENOSPC = 28
const ENDS_WITHIN_MS = 20_000

describe('a disk that reports errors', () => {
  it.skipIf(obstacle !== null)(
    `G1 G11: an I/O error of fsync ends the service, and after a restart nothing acknowledged is lost${skipNote(obstacle)}`,
    async () => {
      const world = await openWorld({ connections: 8, connectionArguments: SLOW, environment: faultEnvironment() })
      const { service, client, connections } = world
      const supervisor = new Supervisor(service)
      try {
        const load = new Load({ client, connections, pauseMs: 30, keyedShare: 0.4, seed })
        load.start()
        supervisor.start()
        for (let round = 0; round < rounds; round += 1) {
          await load.waitForAcks(50)
          await fail(service, { call: 'sync/fsync', errno: EIO, probability: 0.1 })
          const hasEnded = async () => supervisor.endings.length > round
          await waitUntil('the service ends', hasEnded, { deadlineMs: ENDS_WITHIN_MS })
        }
        await load.waitForAcks(50)
        await load.stop()

        const { counts, states, input } = await checkRun(world, load.requests)

        const codes = supervisor.endings.map(({ code, signal }) => code ?? signal ?? 'none')
        printTable('I/O errors of fsync', { rounds, seed, ...counts, ...states, endings: codes.join(', ') })
        assert.equal(codes.length, rounds, 'It also ended when nothing was wrong with the disk')
        assert.deepEqual(findFalseQuarantines(supervisor.endedAt, input), [])
        assert.ok(
          codes.every((code) => typeof code === 'number' && code !== 0),
          codes.join(', '),
        )
      } finally {
        await supervisor.stop()
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )

  it.skipIf(obstacle !== null)(
    `G1 G11: a write without room is answered with 503, no other is, and a kill does not bring it back${skipNote(obstacle)}`,
    async () => {
      const world = await openWorld({ connections: 8, connectionArguments: SLOW, environment: faultEnvironment() })
      const { service, client, connections } = world
      try {
        const load = new Load({ client, connections, pauseMs: 30, keyedShare: 0.4, seed })
        load.start()
        for (let round = 0; round < rounds; round += 1) {
          await load.waitForAcks(50)
          await fail(service, { call: 'rw/pwrite', errno: ENOSPC, probability: 0.05 })
          const before = countRefused(load)
          await waitUntil('a write fails', async () => countRefused(load) > before, { deadlineMs: 60_000 })
          assert.ok(service.isRunning, service.log)
          // A refused message must not reappear when the next process reads the log after failed writes.
          if (round % 2 === 1) await restartByForce(service)
          else await heal(service, 'rw/pwrite')
        }
        await load.waitForAcks(50)
        await load.stop()

        const { counts, states } = await checkRun(world, load.requests)

        printTable('No room for some writes', {
          rounds,
          seed,
          ...counts,
          ...states,
          'refused with 503': countRefused(load),
        })
        assert.ok(service.isRunning, service.log)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})

const SLOW = ['--set', 'latency=20ms']

function countRefused({ answers }: Load): number {
  return answers['503 not_accepted'] ?? 0
}

async function restartByForce(service: NuncioProcess): Promise<void> {
  await service.killNine()
  await service.start()
}
