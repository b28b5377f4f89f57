import { describe, it } from 'vitest'
import { openCluster } from '../../support/black-box/cluster.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { temporaryFolder } from '../../support/journey/start-nuncio.ts'
import { whyNoLibrary } from '../../support/whatsapp-web/library.ts'
import { readSeed } from '../run-length.ts'
import { rotateWhileSending } from '../whatsapp-web/rotate-while-sending.ts'
import { networkSettings, openNetwork } from '../whatsapp-web/web-run.ts'

const REASON = whyNoLibrary()
const seed = readSeed()
const WORKERS = 2

describe.skipIf(REASON)(`a rotation of keys while linked numbers send, several workers${skipNote(REASON)}`, () => {
  it('on PostgreSQL, delivers each message once, and afterwards only the new key opens the sessions', async () => {
    const simulator = await openNetwork()
    const environment = networkSettings(simulator, temporaryFolder())
    const cluster = await openCluster({ workers: WORKERS, connections: 0, environment })
    const { services } = cluster
    try {
      await rotateWhileSending({
        title: 'a rotation while linked numbers send, PostgreSQL',
        ...{ seed, simulator, world: cluster },
        async restart() {
          await Promise.all(services.map((service) => service.stop()))
          await Promise.all(services.map((service) => service.start()))
        },
      })
    } finally {
      await cluster.close()
    }
  })
})
