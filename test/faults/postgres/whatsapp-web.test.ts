import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { LEASE_MS } from '../../../src/core/dispatch/workers/lease.ts'
import { openCluster } from '../../support/black-box/cluster.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { temporaryFolder } from '../../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../../support/whatsapp-web/library.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { sendThroughFailures } from '../whatsapp-web/send-through-failures.ts'
import { networkSettings, openNetwork } from '../whatsapp-web/web-run.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const REASON = whyNoLibrary()
const WORKERS = 2
const STOPPED_EVERY = 2
const STOPPED_MS = LEASE_MS + 3_000

describe.skipIf(REASON)(`an unreliable WhatsApp Web, several workers${skipNote(REASON)}`, () => {
  it(
    'G1 G2 G3 G5 G6: on PostgreSQL, cut lines, lost receipts, kill -9 and SIGSTOP lose, duplicate and reorder nothing',
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
            const killed = random.between(0, WORKERS - 1)
            const stopped = round % STOPPED_EVERY === 0 ? services[WORKERS - 1 - killed] : undefined
            stopped?.signal('SIGSTOP')
            const awake = stopped && setTimeout(STOPPED_MS)
            await services[killed]?.killNine()
            await services[killed]?.start()
            await awake
            stopped?.signal('SIGCONT')
          },
        })
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})
