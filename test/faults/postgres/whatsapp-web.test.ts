import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { temporaryFolder } from '../../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../../support/whatsapp-web/library.ts'
import { readRounds, readSeed } from '../run-length.ts'
import { sendThroughFailures } from '../whatsapp-web/send-through-failures.ts'
import { networkSettings, openNetwork } from '../whatsapp-web/web-run.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const REASON = whyNoLibrary()
const WORKERS = 2
const PAUSED_EVERY = 3
// Longer than a claim holds.
const PAUSED_MS = 18_000

describe.skipIf(REASON)(`an unreliable WhatsApp Web, several workers${skipNote(REASON)}`, () => {
  it(
    'G1 G2 G3 G5 G6: with lines cut, receipts astray, kill -9 and SIGSTOP, loses, doubles and reorders nothing on PostgreSQL',
    async () => {
      const simulator = await openNetwork()
      const environment = networkSettings(simulator, temporaryFolder())
      const cluster = await openCluster({ workers: WORKERS, connections: 0, environment })
      try {
        const { services } = cluster
        const cli = new QuickCli({ ...cluster, environment })
        await sendThroughFailures({
          title: 'WhatsApp Web, PostgreSQL',
          ...{ rounds, seed, simulator, world: { ...cluster, cli } },
          async killAndStart(round, random) {
            const service = services[Math.floor(random.next() * services.length)]!
            if (round % PAUSED_EVERY === PAUSED_EVERY - 1) {
              service.signal('SIGSTOP')
              await setTimeout(PAUSED_MS)
              service.signal('SIGCONT')
              return
            }
            await service.killNine()
            await service.start()
          },
        })
      } finally {
        await cluster.close()
      }
    },
    480_000 + rounds * 40_000,
  )
})
