import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { openMigratedDatabase } from '../../../test/support/administration-world/migrated-database.ts'
import { temporaryFolder } from '../../../test/support/journey/start-nuncio.ts'
import type { Settings } from '../../config/read-settings.ts'
import type { AccountId } from '../../core/ids.ts'
import { NO_FILTER } from '../../core/ports/console/api-log.ts'
import { CONSOLE_AREAS } from '../../core/ports/console/console-areas.ts'
import type { ConsoleStore } from '../../core/ports/console/console-store.ts'
import { openAdministration } from '../../storage/sqlite/queries/open-administration.ts'
import { FairScheduler } from './fair-scheduling.ts'
import { openConsoleStore } from './open-console-store.ts'

const ACME = 'acc_acme' as AccountId
const OTHERS = 'acc_others' as AccountId
const WANTED = { filter: NO_FILTER, cursor: null, limit: 100 }

/** A store that answers when the test says so, and records the order of its calls. */
class SlowStore {
  readonly begun: string[] = []
  readonly #open: (() => void)[] = []
  readonly store = Object.fromEntries(
    CONSOLE_AREAS.map((area) => [area, new Proxy({}, { get: () => (first: unknown) => this.#answerLater(first) })]),
  ) as unknown as ConsoleStore

  async #answerLater(first: unknown): Promise<void> {
    this.begun.push(JSON.stringify(first))
    await new Promise<void>((resolve) => this.#open.push(resolve))
  }

  async answerOne(): Promise<void> {
    this.#open.shift()?.()
    await new Promise(setImmediate)
  }
}

describe('the share of each account in what the console reads', () => {
  it('G8: lets accounts in turn by turn, however much one of them asks for', async () => {
    const slow = new SlowStore()
    const fairly = new FairScheduler()
    const { apiLog, lanes, sessions } = fairly.share(slow.store)
    const asked = [
      ...Array.from({ length: 20 }, () => apiLog.readPage(ACME, WANTED)),
      lanes.readLane({ accountId: OTHERS, id: 'con_1' as never }),
      sessions.list('per_anna'),
      apiLog.readPage(OTHERS, WANTED),
    ]
    await new Promise(setImmediate)

    assert.deepEqual(slow.begun, [`"${ACME}"`, `"${ACME}"`, `{"accountId":"${OTHERS}","id":"con_1"}`, '"per_anna"'])
    assert.equal(fairly.waiting, 19)
    for (let answered = 0; answered < asked.length; answered++) await slow.answerOne()
    await Promise.all(asked)
    assert.equal(slow.begun.indexOf(`"${OTHERS}"`), 5)
    assert.deepEqual([slow.begun.length, fairly.waiting], [asked.length, 0])
  })

  it('goes on after a call that failed', async () => {
    const failing = { ...new SlowStore().store, changes: { poll: () => Promise.reject(new Error('away')) } } as never
    const { changes } = new FairScheduler().share(failing)

    for (let calls = 0; calls < 10; calls++) await assert.rejects(changes.poll(), /away/)
  })

  it.each([
    ['SQLite', fillSqlite],
    ['PostgreSQL', fillPostgres],
  ])('G8: reads pages of two accounts in turn, on %s', async (_engine, fill) => {
    const dataDir = temporaryFolder()
    const database = await fill(dataDir)
    const opened = await openConsoleStore({ dataDir, database } as Settings, {
      now: () => 1,
      findError: () => null,
      onError: () => {},
    })
    onTestFinished(() => opened.close())
    const { apiLog } = opened.store
    let answered = 0
    const flood = Array.from({ length: 60 }, async () => {
      await apiLog.readPage(ACME, WANTED)
      answered += 1
    })

    await apiLog.readPage(OTHERS, WANTED)
    const before = answered
    await Promise.all(flood)

    assert.ok(before < 30, `${before} of 60 pages of the other account came first`)
  })
})

const FILLING = [
  `insert into account (id, name, created_at) values ('${ACME}', 'Acme', 1), ('${OTHERS}', 'Others', 1)`,
  `insert into connection (id, account_id, number, channel, state, policy, channel_settings, created_at)
     values ('con_1', '${ACME}', '15550001000', 'sandbox', 'active', '{}', '{}', 1)`,
  `with recursive counted (i) as (select 1 union all select i + 1 from counted where i < 500)
   insert into message (id, account_id, connection_id, request_id, body, body_crc, recipient, type, state, accepted_at)
     select 'many-' || i, '${ACME}', 'con_1', 'request-' || i, '{}', 1, '15550100000', 'message', 'QUEUED', 1 from counted`,
]

async function fillSqlite(dataDir: string) {
  const path = join(dataDir, 'nuncio.db')
  openAdministration(path, { create: true, now: () => 1 }).close()
  const database = new DatabaseSync(path)
  for (const statement of FILLING) database.exec(statement)
  database.close()
  return { engine: 'sqlite', path }
}

async function fillPostgres() {
  const { url } = await openMigratedDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  for (const statement of FILLING) await client.query(statement)
  await client.end()
  return { engine: 'postgres', url }
}
