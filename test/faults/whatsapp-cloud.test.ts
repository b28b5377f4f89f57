import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld } from '../support/black-box/world.ts'
import { checkLedger } from '../support/ledger/check-ledger.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'
import { asDelivered } from './whatsapp-cloud/check-cloud-run.ts'
import { connectNumbers, makeLoad, networkSettings, openNetwork } from './whatsapp-cloud/cloud-run.ts'
import { openRetryingForwarder } from './whatsapp-cloud/retrying-forwarder.ts'
import { sendThroughFailures } from './whatsapp-cloud/send-through-failures.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()

describe('an unreliable WhatsApp Cloud', () => {
  it(
    'G1 G2 G3 G5: on SQLite, cut calls, lost reports and kill -9 lose, duplicate and reorder nothing',
    async () => {
      const simulator = await openNetwork(seed)
      const world = await openWorld({ connections: 0, environment: networkSettings(simulator.url) })
      try {
        const { cli, service } = world
        await sendThroughFailures({
          title: 'WhatsApp Cloud',
          ...{ rounds, seed, simulator, world, cli, serviceUrls: [service.url] },
          async killAndStart() {
            await service.killNine()
            await service.start()
          },
        })
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )

  it('G5: notices a channel that sends again after a broken connection', async () => {
    const simulator = await openNetwork(seed)
    const forwarder = await openRetryingForwarder(simulator.url)
    const world = await openWorld({ connections: 0, environment: networkSettings(forwarder) })
    try {
      const { cli, client, service } = world
      const connections = await connectNumbers(cli, simulator, { count: 1, serviceUrls: [service.url] })
      simulator.dropAfterActing({ rate: 0.5 })
      const load = await makeLoad({ client, connections, seed })
      load.start()

      await waitUntil('enough was sent', async () => simulator.sent.length >= 20, { deadlineMs: 60_000 })
      await load.stop()
      await simulator.callbacksIdle()
      const inbox = simulator.sent.map(asDelivered)
      const { faults } = checkLedger({ requests: load.requests, messages: [], inbox })
      assert.ok(faults.duplicated.length > 0, 'The ledger saw no fault')
    } finally {
      await world.close()
    }
  })
})
