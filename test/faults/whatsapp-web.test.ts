import { describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { openWorld } from '../support/black-box/world.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { readRounds, readSeed } from './run-length.ts'
import { sendThroughFailures } from './whatsapp-web/send-through-failures.ts'
import { networkSettings, openNetwork } from './whatsapp-web/web-run.ts'

const rounds = readRounds({ brief: 2, quick: 1 })
const seed = readSeed()
const REASON = whyNoLibrary()

describe.skipIf(REASON)(`an unreliable WhatsApp Web${skipNote(REASON)}`, () => {
  it(
    'G1 G2 G3 G5: with lines cut, receipts astray and kill -9, loses, doubles and reorders nothing on SQLite',
    async () => {
      const simulator = await openNetwork()
      const environment = networkSettings(simulator, temporaryFolder())
      const world = await openWorld({ connections: 0, environment })
      try {
        await sendThroughFailures({
          title: 'WhatsApp Web',
          ...{ rounds, seed, simulator, world },
          async killAndStart() {
            await world.service.killNine()
            await world.service.start()
          },
        })
      } finally {
        await world.close()
      }
    },
    420_000 + rounds * 20_000,
  )
})
