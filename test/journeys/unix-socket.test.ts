import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { escapeIdentifier } from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioCli } from '../support/black-box/nuncio-cli.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { openTestFolder } from '../support/black-box/test-folder.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { postTo } from '../support/journey/start-nuncio.ts'
import { obstacleToDumping, openDumpingServer } from '../support/postgres/dumping-server.ts'
import type { PostgresServer } from '../support/postgres/postgres-server.ts'

const obstacle = obstacleToDumping()

describe('a PostgreSQL on this machine, reached by its Unix socket', () => {
  it.skipIf(obstacle !== null)(
    `needs neither user nor password, because the server gets the user from the system${skipNote(obstacle)}`,
    async () => {
      const folder = openTestFolder()
      onTestFinished(() => folder.remove())
      const server = await openServer()
      const environment = { NUNCIO_DATABASE_URL: await createDatabase(server) }
      const dataDir = join(folder.path, 'data')
      const places = { dataDir, workDir: folder.path, environment }
      const service = new NuncioProcess({
        ...places,
        port: await findFreePort(),
        onStart: (pid) => folder.remember(pid),
      })
      onTestFinished(() => service.stop())
      const cli = new NuncioCli(places)

      await service.start()
      const created = await cli.json<{ token: string }>(
        ...['token', 'create', '--name', 'socket', '--expires', '7d', '--event', 'messaging.send_message'],
      )
      const body = { from: '15550001000', to: '15551234567', message: { type: 'message', message: 'by a socket' } }
      const reply = await postTo(service.url, created.token, { body, headers: {} })
      const arrived = await waitUntil(
        'it arrives',
        async () => {
          const [entry] = await cli.json<{ content: { message?: string } }[]>('sandbox', 'inbox')
          return entry
        },
        { deadlineMs: 30_000 },
      )
      const backup = await cli.json<{ path: string }>('backup', join(folder.path, 'kept'))
      const doctor = await cli.json<{ findings: { status: string }[] }>('doctor', '--offline')

      assert.equal(reply.status, 200)
      assert.match(JSON.stringify(arrived), /by a socket/)
      assert.ok(existsSync(backup.path))
      assert.deepEqual(
        doctor.findings.filter(({ status }) => status === 'problem'),
        [],
      )
    },
  )
})

async function openServer(): Promise<PostgresServer> {
  const server = await openDumpingServer({ hasSocket: true, initdbFlags: ['--auth-local=peer'] })
  onTestFinished(() => server.close())
  return server
}

/** Creates a database of the user that runs this test. Returns its URL, in the form that the documentation shows. */
async function createDatabase(server: PostgresServer): Promise<string> {
  const owner = escapeIdentifier(userInfo().username)
  await server.query(`create role ${owner} login`)
  await server.query(`create database nuncio owner ${owner} encoding 'UTF8' template template0`)
  const { searchParams } = new URL(server.socketUrl())
  return `postgres:///nuncio?host=${searchParams.get('host')}&port=${server.port}`
}
