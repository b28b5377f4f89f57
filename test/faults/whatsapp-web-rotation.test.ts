import { describe, it } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { openWorld } from '../support/black-box/world.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { readSeed } from './run-length.ts'
import { rotateWhileSending } from './whatsapp-web/rotate-while-sending.ts'
import { networkSettings, openNetwork } from './whatsapp-web/web-run.ts'

const REASON = whyNoLibrary()
const seed = readSeed()

describe.skipIf(REASON)(`a rotation of keys while linked numbers send, on SQLite${skipNote(REASON)}`, () => {
  it('delivers each message once, and afterwards only the new key opens the sessions', async () => {
    const simulator = await openNetwork()
    const world = await openWorld({ connections: 0, environment: networkSettings(simulator, temporaryFolder()) })
    const { service } = world
    try {
      await rotateWhileSending({
        title: 'a rotation while linked numbers send',
        ...{ seed, simulator, world },
        async restart() {
          await service.stop()
          await service.start()
        },
      })
    } finally {
      await world.close()
    }
  })
})
