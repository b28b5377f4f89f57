import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { Load } from '../support/black-box/load.ts'
import { createRandom } from '../support/black-box/random.ts'
import { judgeReceived, openWebhookReceiver } from '../support/black-box/webhook-receiver.ts'
import { openWorld } from '../support/black-box/world.ts'
import { readRounds, readSeed } from './run-length.ts'

const rounds = readRounds(6)
const seed = readSeed()

describe('kill -9 while webhooks are posted', () => {
  it(
    'posts every committed change of a state at least once, each under one id and correctly signed',
    async () => {
      const receiver = await openWebhookReceiver(createRandom(seed))
      const environment = { NUNCIO_WEBHOOK_ALLOWED_PRIVATE: '127.0.0.0/8' }
      const world = await openWorld({ connections: 4, connectionArguments: ['--set', 'latency=10ms'], environment })
      try {
        const { service, cli, client, connections } = world
        const { secret } = await cli.json<{ secret: string }>('webhook', 'add', receiver.url)
        receiver.secret = secret
        const load = new Load({ client, connections, pauseMs: 60, keyedShare: 1, seed })
        load.start()
        const random = createRandom(seed + 1)

        for (let round = 0; round < rounds; round++) {
          await setTimeout(random.between(300, 2_000))
          await service.killNine()
          await service.start()
        }
        await load.stop()

        assert.ok((await judgeReceived(receiver, cli)) > 0)
      } finally {
        await world.close()
        await receiver.close()
      }
    },
    120_000 + rounds * 10_000,
  )
})
