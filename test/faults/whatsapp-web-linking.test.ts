import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { printTable } from '../support/black-box/print-table.ts'
import { createRandom } from '../support/black-box/random.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { openWorld } from '../support/black-box/world.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { readRounds, readSeed, timeLimitMs } from './run-length.ts'
import { KILLED_AT, linkThroughKill } from './whatsapp-web/kill-while-linking.ts'
import { installChannel, networkSettings, openData, openNetwork } from './whatsapp-web/web-run.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const seed = readSeed()
const REASON = whyNoLibrary()
const FIRST_NUMBER = 15_550_003_500
// When the service returns to the old device, its ratchets are deleted, so it opens new sessions with devices that it knew.
const WENT_BACK = /^keys of .+ were fetched again$/

describe.skipIf(REASON)(
  `a phone that is linked while the service is killed, against the simulator${skipNote(REASON)}`,
  () => {
    it(
      'is linked afterwards and sends, or can be linked again, on SQLite',
      async () => {
        const simulator = await openNetwork()
        const environment = networkSettings(simulator, temporaryFolder())
        const world = await openWorld({ connections: 0, environment })
        const { session } = await openData(world)
        const random = createRandom(seed)
        const ends: Record<string, string> = {}
        let number = FIRST_NUMBER
        try {
          installChannel(world)
          for (let round = 0; round < rounds; round += 1)
            for (const killedAt of KILLED_AT)
              for (const isAgain of [false, true]) {
                const run = { simulator, world, session, random }
                const end = await linkThroughKill(run, { number: String(number), isAgain, killedAt })
                ends[`${round} ${killedAt}${isAgain ? ', again' : ''}`] = end
                number += 1
              }
        } finally {
          printTable('WhatsApp Web, killed while linking', { rounds, seed, ...ends })
          await session.close()
          await world.close()
        }
        assert.deepEqual(
          simulator.takeComplaints().filter((complaint) => !WENT_BACK.test(complaint)),
          [],
        )
      },
      timeLimitMs(rounds),
    )
  },
)
