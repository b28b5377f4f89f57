import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { MAY_POST_HERE, openWebhookReceiver, postWhileKilled } from '../../support/black-box/webhook-receiver.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'

const rounds = readRounds({ brief: 4, quick: 1 })
const seed = readSeed()

describe('kill -9 of workers on PostgreSQL while they post to webhooks', () => {
  it(
    'posts every committed change of a state at least once, with one id for each change, and correctly signed',
    async () => {
      const receiver = await openWebhookReceiver(createRandom(seed))
      const cluster = await openCluster({
        workers: 2,
        connections: 4,
        connectionArguments: ['--set', 'latency=10ms'],
        environment: MAY_POST_HERE,
      })
      try {
        const { services, client, connections } = cluster
        const cli = new QuickCli({ ...cluster, environment: MAY_POST_HERE })
        const kill = async (round: number) => {
          // The other worker continues, and takes over what this one had begun.
          const service = services[round % services.length]
          await service?.killNine()
          await service?.start()
        }

        assert.ok((await postWhileKilled(receiver, { cli, client, connections, rounds, seed, kill })) > 0)
      } finally {
        await cluster.close()
        await receiver.close()
      }
    },
    timeLimitMs(rounds),
  )
})
