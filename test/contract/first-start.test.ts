import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, it, onTestFinished } from 'vitest'
import { readSettings } from '../../src/config/read-settings.ts'
import { Refusal } from '../../src/core/refusals.ts'
import { Application } from '../../src/server/application.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { QuickCli } from '../support/black-box/quick-cli.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
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

  it.each([
    ['192.0.2.1', /This machine has no address 192\.0\.2\.1\. Set NUNCIO_HOST/],
    ['nowhere.invalid', /The name nowhere\.invalid (is not known|could not be looked up)\. Set NUNCIO_HOST/],
  ])('says what to do about a host that is not of this machine: %s', async (host, sentence) => {
    const failing = open({ NUNCIO_DATA_DIR: temporaryFolder(), NUNCIO_PORT: '0', NUNCIO_HOST: host })

    await assert.rejects(
      failing.start(),
      (error) => error instanceof Refusal && error.code === 'address_unusable' && sentence.test(error.message),
    )
    await failing.stop()
  })

  it('ends silently if it is stopped meanwhile, and leaves token and link to the next start', async () => {
    const dataDir = temporaryFolder()
    const said: string[] = []
    const stopped = open({ NUNCIO_DATA_DIR: dataDir, NUNCIO_PORT: '0' }, { said })

    const starting = stopped.start()
    await Promise.all([stopped.stop(), starting.then(() => stopped.printSetupLink())])
    const { first } = await starting
    const journey = await startNuncio({ dataDir })

    assert.deepEqual([said, first], [[], null])
    assert.notEqual(journey.token, '')
  })

  it('does not mention a link that it could not create because it was stopped', async () => {
    const said: string[] = []
    const stopped = open({ NUNCIO_DATA_DIR: temporaryFolder(), NUNCIO_PORT: '0' }, { said })

    await stopped.start()
    const [offer] = await Promise.all([stopped.printSetupLink(), stopped.stop()])

    assert.deepEqual([said, offer?.url ?? null], [[], null])
  })

  it('prints a token and a link, even if its output is not a terminal', async () => {
    const { said } = await startProcess({})

    assert.match(said, /-H 'x-api-key: nco_\w{38}'/)
    assert.match(said, /http:\S+\/console\/set-up\/[\w-]{43}$/m)
  })

  it('creates and prints neither in quiet mode, and names the commands for both', async () => {
    const { said, dataDir } = await startProcess({ NUNCIO_QUIET_FIRST_START: 'true' })
    const cli = new QuickCli({ dataDir })

    assert.doesNotMatch(said, /nco_|console\/set-up/)
    assert.deepEqual(await cli.json('token', 'list'), [])
    assert.equal(existsSync(join(dataDir, 'setup-link')), false)
    for (const named of [/nuncio (?:-- )?(token create .*)$/m, /nuncio (?:-- )?(user setup-link)$/m]) {
      const command = named.exec(said)?.[1] ?? ''
      const given = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
      const { code, stderr } = await cli.run(...given)
      assert.equal(code, 0, `${command}: ${stderr}`)
    }
  })

  it('creates no account in a process whose parent creates it', async () => {
    const dataDir = temporaryFolder()
    const child = open({ NUNCIO_DATA_DIR: dataDir, NUNCIO_PORT: '0' }, { makesFirst: false })

    const { first, url } = await child.start()
    const ready = await fetch(`${url}/health/ready`)
    await child.stop()

    assert.equal(first, null)
    // Every call would be refused, so the address must not be printed yet.
    assert.equal(ready.status, 503)
    assert.match(await ready.text(), /first start/)
    assert.notEqual((await startNuncio({ dataDir })).token, '')
  })
})

async function startProcess(environment: Record<string, string>): Promise<{ said: string; dataDir: string }> {
  const workDir = temporaryFolder()
  const dataDir = join(workDir, 'data')
  const service = new NuncioProcess({ dataDir, workDir, port: await findFreePort(), environment })
  onTestFinished(() => service.stop())
  await service.start()
  // Logged after the first request is accepted.
  await waitUntil(
    'it is said',
    async () => /set-up|setup-link/.test(service.log) && /token create|x-api-key/.test(service.log),
    {
      deadlineMs: 20_000,
    },
  )
  return { said: service.log, dataDir }
}

/** `said`: collects warnings and errors of the log. */
function open(
  environment: Record<string, string>,
  { said = [], ...more }: { readonly makesFirst?: boolean; readonly said?: string[] } = {},
): Application {
  const { settings } = readSettings({ environment, envFile: {} })
  assert.ok(settings)
  const logger = pino({ level: 'warn' }, { write: (line) => void said.push(line) })
  return new Application({ settings, logger, onBroken: () => {}, ...more })
}
