import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { adapterSettings, sendThroughKills, startAdapters } from '../bridge/send-through-kills.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'

const rounds = readRounds({ brief: 3, quick: 1 })
const seed = readSeed()

describe('adapters that are killed, several workers', () => {
  it(
    'G1 G2 G3 G5 G6: on PostgreSQL, a kill -9 of services and of their adapters loses, duplicates and reorders nothing',
    async () => {
      const senders = await startAdapters()
      const environment = adapterSettings(senders)
      const cluster = await openCluster({ workers: 2, connections: 0, environment })
      try {
        const { services } = cluster
        await sendThroughKills({
          title: 'Bridge, PostgreSQL',
          ...{ rounds, seed, senders, world: { ...cluster, cli: new QuickCli({ ...cluster, environment }) } },
          async killAndStart(_, random) {
            const one = services[Math.floor(random.next() * services.length)]!
            await one.killNine()
            await one.start()
          },
        })
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})
