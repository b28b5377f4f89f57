import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { createRandom } from '../support/black-box/random.ts'
import { MAY_POST_HERE, openWebhookReceiver, postWhileKilled } from '../support/black-box/webhook-receiver.ts'
import { openWorld } from '../support/black-box/world.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 6, quick: 2 })
const seed = readSeed()

describe('kill -9 while webhooks are posted', () => {
  it(
    'posts every committed change of a state at least once, with one id for each change, and correctly signed',
    async () => {
      const receiver = await openWebhookReceiver(createRandom(seed))
      const world = await openWorld({
        connections: 4,
        connectionArguments: ['--set', 'latency=10ms'],
        environment: MAY_POST_HERE,
      })
      try {
        const { service, cli, client, connections } = world
        const kill = async () => {
          await service.killNine()
          await service.start()
        }

        assert.ok((await postWhileKilled(receiver, { cli, client, connections, rounds, seed, kill })) > 0)
      } finally {
        await world.close()
        await receiver.close()
      }
    },
    timeLimitMs(rounds),
  )
})
