import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { readSettings } from '../../../config/read-settings.ts'
import { takeServiceLock } from '../../../storage/sqlite/connection/service-lock.ts'
import type { Examination } from '../examination.ts'
import { checkPort } from './check-port.ts'

const ANSWER_WITHIN_MS = 200

describe('the check of the port', () => {
  it('says of a service that holds the data and does not answer that it hangs', async () => {
    const dataDir = dataFolder()
    const lock = takeServiceLock(join(dataDir, 'service.lock'))
    onTestFinished(() => lock.release())
    const port = await listen(() => {})

    const [result] = await check({ NUNCIO_PORT: `${port}`, NUNCIO_DATA_DIR: dataDir })

    assert.equal(result?.status, 'problem')
    assert.match(result?.sentence ?? '', new RegExp(`process ${process.pid}\\) holds the data and does not answer`))
    assert.doesNotMatch(result?.nextStep ?? '', /Stop that program/)
  })

  it('says the same on PostgreSQL, by the heartbeat of a process of this machine', async () => {
    const port = await listen(() => {})

    const [result] = await check({ NUNCIO_PORT: `${port}`, NUNCIO_DATABASE_URL: 'postgres://a@127.0.0.1/b' })

    assert.match(result?.sentence ?? '', /\(process 4242\) holds the data and does not answer/)
  })

  it('does not distinguish a silent program from a hung service while nothing holds the data', async () => {
    const port = await listen(() => {})

    const [result] = await check({ NUNCIO_PORT: `${port}`, NUNCIO_DATA_DIR: dataFolder() })

    assert.match(result?.sentence ?? '', /does not answer: another program, or a service that hangs/)
  })

  it('does not call a service ready that stopped answering', async () => {
    const port = await listen((request, response) => {
      if (request.url === '/health/live') response.end('{"status":"live"}')
    })

    const [result] = await check({ NUNCIO_PORT: `${port}`, NUNCIO_DATA_DIR: dataFolder() })

    assert.equal(result?.status, 'problem')
    assert.match(result?.sentence ?? '', /is not ready: it stopped answering/)
  })

  it('names another program, and does not ask to stop it while a service holds the data', async () => {
    const dataDir = dataFolder()
    const port = await listen((_, response) => void response.end('hello'))
    const settings = { NUNCIO_PORT: `${port}`, NUNCIO_DATA_DIR: dataDir }

    const [alone] = await check(settings)
    const lock = takeServiceLock(join(dataDir, 'service.lock'))
    onTestFinished(() => lock.release())
    const [beside] = await check(settings)

    assert.match(alone?.nextStep ?? '', /^Stop that program/)
    assert.match(beside?.sentence ?? '', /holds the data, but what answers at .* is not Nuncio/)
    assert.doesNotMatch(beside?.nextStep ?? '', /Stop that program/)
  })
})

function check(environment: Readonly<Record<string, string>>) {
  const { settings } = readSettings({ environment, envFile: {} })
  assert.ok(settings)
  const worker = { isAlive: true, host: hostname(), pid: 4242, roles: ['api', 'dispatch'] }
  const session =
    settings.database.engine === 'sqlite' ? null : { administration: { listWorkers: async () => [worker] } }
  return checkPort({ settings, openSession: async () => session } as unknown as Examination, ANSWER_WITHIN_MS)
}

async function listen(answer: RequestListener): Promise<number> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-check-port-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}
