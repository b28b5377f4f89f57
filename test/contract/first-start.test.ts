import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import { describe, it } from 'vitest'
import { Nuncio } from '../../src/app/nuncio.ts'
import { readSettings } from '../../src/config/read-settings.ts'
import { Refusal } from '../../src/core/refusals.ts'
import { startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'

describe('the first start', () => {
  it('keeps its token for the next one when the port is taken', async () => {
    const dataDir = temporaryFolder()
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const failing = open({ NUNCIO_DATA_DIR: dataDir, NUNCIO_PORT: String(port) })

    await assert.rejects(
      failing.start(),
      (error) => error instanceof Refusal && error.code === 'address_in_use' && error.message.includes('NUNCIO_PORT'),
    )
    await failing.stop()
    taken.close()
    const journey = await startNuncio({ dataDir })

    assert.notEqual(journey.token, '')
    assert.equal((await journey.text('15551234567', 'Hello')).status, 200)
  })

  it('makes no account in a process whose parent makes it', async () => {
    const dataDir = temporaryFolder()
    const child = open({ NUNCIO_DATA_DIR: dataDir, NUNCIO_PORT: '0' }, { makesFirst: false })

    const { first, url } = await child.start()
    const ready = await fetch(`${url}/health/ready`)
    await child.stop()

    assert.equal(first, null)
    // Every call would be refused, so nobody should be sent here yet.
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /first start/)
    assert.notEqual((await startNuncio({ dataDir })).token, '')
  })
})

function open(environment: Record<string, string>, more: { makesFirst?: boolean } = {}): Nuncio {
  const { settings } = readSettings({ environment, envFile: {} })
  assert.ok(settings)
  return new Nuncio({ settings, logger: pino({ level: 'silent' }), onBroken: () => {}, ...more })
}
