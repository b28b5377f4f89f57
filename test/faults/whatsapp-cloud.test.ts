import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import type { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { openWorld } from '../support/black-box/world.ts'
import { checkLedger } from '../support/ledger/check-ledger.ts'
import type { Simulator } from '../support/whatsapp-cloud/simulator-types.ts'
import { readRounds, readSeed } from './run-length.ts'
import {
  connectNumbers,
  countTrouble,
  makeLoad,
  networkSettings,
  openNetwork,
  spoilCalls,
  waitToKill,
} from './whatsapp-cloud/cloud-run.ts'
import { asDelivered, judgeCloudRun } from './whatsapp-cloud/judge-cloud-run.ts'
import { openRetryingForwarder } from './whatsapp-cloud/retrying-forwarder.ts'

const rounds = readRounds(2)
const seed = readSeed()
const NUMBERS = 6
const AFTER_THE_LAST_MS = 2_000

describe('an unreliable WhatsApp Cloud', () => {
  it(
    'G1 G2 G3 G5: with calls cut off, reports astray and kill -9, loses, doubles and reorders nothing on SQLite',
    async () => {
      const simulator = await openNetwork(seed)
      const world = await openWorld({ connections: 0, environment: networkSettings(simulator.url) })
      try {
        const { cli, client, service } = world
        const connections = await connectNumbers(cli, simulator, { count: NUMBERS, serviceUrls: [service.url] })
        spoilCalls(simulator, Math.ceil(rounds / 2))
        const load = await makeLoad({ client, connections, seed })
        load.start()

        await killAgainAndAgain(simulator, service)

        await load.stop()
        const { counts, states } = await judgeCloudRun(world, load.requests, simulator)
        const trouble = countTrouble(simulator)
        printTable('WhatsApp Cloud', { rounds, seed, ...counts, ...states, ...trouble })
        assert.ok(trouble['cut off after acting'], 'No call was cut off')
        assert.ok(load.ackedIds.length > rounds * 30, `Only ${load.ackedIds.length} messages were at stake`)
      } finally {
        await world.close()
      }
    },
    240_000 + rounds * 20_000,
  )

  it('G5: would notice a channel that sends again after a broken line', async () => {
    const simulator = await openNetwork(seed)
    const forwarder = await openRetryingForwarder(simulator.url)
    const world = await openWorld({ connections: 0, environment: networkSettings(forwarder) })
    try {
      const { cli, client, service } = world
      const connections = await connectNumbers(cli, simulator, { count: 1, serviceUrls: [service.url] })
      simulator.dropAfterActing({ rate: 0.5 })
      const load = await makeLoad({ client, connections, seed })
      load.start()

      await setTimeout(2_000)

      await load.stop()
      await simulator.callbacksIdle()
      const inbox = simulator.sent.map(asDelivered)
      const { faults } = checkLedger({ requests: load.requests, messages: [], inbox })
      assert.ok(faults.duplicated.length > 0, 'Nobody noticed')
    } finally {
      await world.close()
    }
  }, 120_000)
})

async function killAgainAndAgain(simulator: Simulator, service: NuncioProcess): Promise<void> {
  const random = createRandom(seed)
  for (let round = 0; round < rounds; round += 1) {
    await waitToKill(simulator, round, random)
    await service.killNine()
    await service.start()
  }
  await setTimeout(AFTER_THE_LAST_MS)
}
