import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { networkSettings, openNetwork } from '../whatsapp-cloud/cloud-run.ts'
import { sendThroughFailures } from '../whatsapp-cloud/send-through-failures.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const WORKERS = 2
const ALL_AT_ONCE_EVERY = 4

describe('an unreliable WhatsApp Cloud, several workers', () => {
  it(
    'G1 G2 G3 G5 G6: on PostgreSQL, cut calls, lost reports and kill -9 lose, duplicate and reorder nothing',
    async () => {
      const simulator = await openNetwork(seed)
      const environment = networkSettings(simulator.url)
      const cluster = await openCluster({ workers: WORKERS, connections: 0, environment })
      try {
        const { services } = cluster
        const cli = new QuickCli({ ...cluster, environment })
        const serviceUrls = services.map(({ url }) => url)
        await sendThroughFailures({
          title: 'WhatsApp Cloud, PostgreSQL',
          ...{ rounds, seed, simulator, world: cluster, cli, serviceUrls },
          async killAndStart(round, random) {
            const one = services[Math.floor(random.next() * services.length)]!
            const killed = round % ALL_AT_ONCE_EVERY === 0 ? services : [one]
            await Promise.all(killed.map((service) => service.killNine()))
            await Promise.all(killed.map((service) => service.start()))
          },
        })
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})
