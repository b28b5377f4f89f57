import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { openWorld } from '../support/black-box/world.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'
import { sendThroughFailures } from './whatsapp-web/send-through-failures.ts'
import { networkSettings, openNetwork } from './whatsapp-web/web-run.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const REASON = whyNoLibrary()
// Longer than the time for which a line may be written to after its last renewal.
const STOPPED_MS = 3_000
const AWAKE_MS = 2_000

describe.skipIf(REASON)(`an unreliable WhatsApp Web${skipNote(REASON)}`, () => {
  it(
    'G1 G2 G3 G5: on SQLite, cut lines, lost receipts, kill -9 and SIGSTOP lose, duplicate and reorder nothing',
    async () => {
      const simulator = await openNetwork()
      const environment = networkSettings(simulator, temporaryFolder())
      const world = await openWorld({ connections: 0, environment })
      const { service } = world
      try {
        await sendThroughFailures({
          title: 'WhatsApp Web',
          ...{ rounds, seed, simulator, world },
          async killAndStart(_, random) {
            service.signal('SIGSTOP')
            await setTimeout(STOPPED_MS)
            service.signal('SIGCONT')
            await setTimeout(random.between(AWAKE_MS, 2 * AWAKE_MS))
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
})
