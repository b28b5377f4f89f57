import assert from 'node:assert/strict'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it, onTestFinished, vi } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { openStranger } from '../support/journey/engines.ts'
import { type Journey, startNuncio } from '../support/journey/start-nuncio.ts'
import { obstacleToDumping, openDumpingServer } from '../support/postgres/dumping-server.ts'
import type { PostgresServer } from '../support/postgres/postgres-server.ts'

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 })

const TO = '15551234567'
const obstacle = obstacleToDumping()
let server: PostgresServer | null = null
let databases = 0

beforeAll(async () => {
  if (obstacle === null) server = await openDumpingServer()
})

afterAll(() => server?.close())

interface BackedUp {
  readonly nuncio: Journey
  readonly cli: CliOn
  readonly settings: Readonly<Record<string, string>>
  /** Where the backup lies. */
  readonly path: string
  /** One statement, past all of our code. */
  readonly run: (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** A service that was backed up with one message that was sent, and stopped. */
async function backUp(): Promise<BackedUp> {
  const own = server
  assert.ok(own)
  databases += 1
  const name = `restore_${databases}`
  const settings = { NUNCIO_DATABASE_URL: await own.createDatabase(name) }
  onTestFinished(() => own.dropDatabase(name))
  const nuncio = await startNuncio({ settings })
  const { messageId } = await nuncio.text(TO, 'sent before')
  await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  const cli = new CliOn(nuncio.dataDir, settings)
  const { path } = await cli.json<{ path: string }>('backup', join(nuncio.dataDir, 'kept'))
  await nuncio.stop()
  const stranger = await openStranger(nuncio.database)
  onTestFinished(() => stranger.close())
  return { nuncio, cli, settings, path, run: (sql) => stranger.run(sql) }
}

describe.skipIf(obstacle !== null)(`restoring on PostgreSQL${skipNote(obstacle)}`, () => {
  it('G12: is done, and says that nobody knows the rest, where the replaced tables are damaged', async () => {
    const { cli, path, run } = await backUp()
    await run('alter view message rename to gone')

    const restored = await cli.json<{ aside: string; endedSince: null }>('restore', path, '--replace')

    assert.match(restored.aside, /^the schema nuncio_replaced_/)
    assert.equal(restored.endedSince, null)
    assert.equal((await run('select from hold')).length, 1)
  })

  it('is not stopped by the timeout of a role, nor by what others have in the database', async () => {
    const { cli, path, run } = await backUp()
    for (const sql of [
      'create schema other',
      `create function other.slow(n integer) returns integer immutable language plpgsql as 'begin perform pg_sleep(1); return n; end'`,
      'create table other.numbers (n integer)',
      'create index on other.numbers (other.slow(n))',
      'insert into other.numbers values (1)',
      `do $$ begin execute format('alter role current_user in database %I set statement_timeout = 900', current_database()); end $$`,
    ])
      await run(sql)

    const restored = await cli.json<{ endedSince: string[] | null }>('restore', path, '--replace')

    assert.deepEqual(restored.endedSince, [])
    const [{ rows } = {}] = await run(`select reltuples as rows from pg_class where oid = 'account'::regclass`)
    assert.equal(rows, 1)
  })
})
