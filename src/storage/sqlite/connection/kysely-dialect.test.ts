import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely } from 'kysely'
import { afterEach, beforeEach, describe, it } from 'vitest'
import type { Tables } from '../../queries/tables.generated.ts'
import { createSqliteDialect } from './kysely-dialect.ts'
import { openDatabase } from './open-database.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-dialect-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(busyTimeoutMs: number) {
  const database = openDatabase(join(folder, 'nuncio.db'), { create: true, busyTimeoutMs })
  return { database, kysely: new Kysely<Tables>({ dialect: createSqliteDialect(database) }) }
}

describe('Kysely on node:sqlite', () => {
  it('refuses clearly when another process holds the database for too long', async () => {
    const holder = open(0)
    const visitor = open(30)
    holder.database.exec('begin immediate')

    await assert.rejects(
      visitor.kysely.transaction().execute(async () => {}),
      { code: 'database_busy' },
    )
    holder.database.exec('rollback')
    await visitor.kysely.transaction().execute(async () => {})
  })

  it('lets others write while it only reads', async () => {
    const reader = open(0)
    const writer = open(0)

    await reader.kysely
      .transaction()
      .setAccessMode('read only')
      .execute(async (tables) => {
        await tables.selectFrom('account').selectAll().execute()
        writer.database.exec("insert into account (id, name, created_at) values ('acc_1', 'A', 1)")
        assert.deepEqual(await tables.selectFrom('account').selectAll().execute(), [])
      })
  })

  it('keeps a query from outside out of an open transaction', async () => {
    const { kysely } = open(0)
    const order: string[] = []

    const change = kysely.transaction().execute(async (tables) => {
      await tables
        .insertInto('account')
        .values({ id: 'acc_1' as never, name: 'A', created_at: 1 })
        .execute()
      await new Promise(setImmediate)
      order.push('committing')
    })
    const query = kysely
      .selectFrom('account')
      .selectAll()
      .execute()
      .then((rows) => order.push(`saw ${rows.length}`))
    await Promise.all([change, query])

    assert.deepEqual(order, ['committing', 'saw 1'])
  })

  it('takes everything back when a change fails', async () => {
    const { kysely } = open(0)

    const failing = kysely.transaction().execute(async (tables) => {
      await tables
        .insertInto('account')
        .values({ id: 'acc_1' as never, name: 'A', created_at: 1 })
        .execute()
      throw new Error('no')
    })

    await assert.rejects(failing, { message: 'no' })
    assert.deepEqual(await kysely.selectFrom('account').selectAll().execute(), [])
  })
})
