import { describe, it } from 'vitest'
import { openWorld } from '../support/black-box/world.ts'
import { adapterSettings, sendThroughKills, startAdapters } from './bridge/send-through-kills.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'

const rounds = readRounds({ brief: 3, quick: 1 })
const seed = readSeed()

describe('adapters that are killed', () => {
  it(
    'G1 G2 G3 G5: on SQLite, a kill -9 of the service and of its adapters loses, duplicates and reorders nothing',
    async () => {
      const senders = await startAdapters()
      const world = await openWorld({ connections: 0, environment: adapterSettings(senders) })
      try {
        await sendThroughKills({
          title: 'Bridge',
          ...{ rounds, seed, senders, world },
          async killAndStart() {
            await world.service.killNine()
            await world.service.start()
          },
        })
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})
