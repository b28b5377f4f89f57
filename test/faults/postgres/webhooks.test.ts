import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { judgeReceived, openWebhookReceiver } from '../../support/black-box/webhook-receiver.ts'
import { readRounds, readSeed } from '../run-length.ts'

const rounds = readRounds(4)
const seed = readSeed()

describe('kill -9 of workers on PostgreSQL while they post to webhooks', () => {
  it(
    'posts every committed change of a state at least once, each under one id and correctly signed',
    async () => {
      const receiver = await openWebhookReceiver(createRandom(seed))
      const environment = { NUNCIO_WEBHOOK_ALLOWED_PRIVATE: '127.0.0.0/8' }
      const cluster = await openCluster({
        workers: 2,
        connections: 4,
        connectionArguments: ['--set', 'latency=10ms'],
        environment,
      })
      try {
        const { services, client, connections, databaseUrl } = cluster
        const cli = new NuncioCli({ ...cluster, environment: { ...environment, NUNCIO_DATABASE_URL: databaseUrl } })
        const { secret } = await cli.json<{ secret: string }>('webhook', 'add', receiver.url)
        receiver.secret = secret
        const load = new Load({ client, connections, pauseMs: 60, keyedShare: 1, seed })
        load.start()
        const random = createRandom(seed + 1)

        for (let round = 0; round < rounds; round++) {
          await setTimeout(random.between(300, 2_000))
          // The other goes on, and takes over what this one had begun.
          const service = services[round % services.length]
          await service?.killNine()
          await service?.start()
        }
        await load.stop()

        assert.ok((await judgeReceived(receiver, cli)) > 0)
      } finally {
        await cluster.close()
        await receiver.close()
      }
    },
    150_000 + rounds * 10_000,
  )
})
