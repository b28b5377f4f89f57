import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, it } from 'vitest'
import { Refusal, type RefusalCode } from '../../../core/refusals.ts'
import { APPLICATION_ID } from '../schema/migrate.ts'
import { migrateDatabase, openDatabase } from './open-database.ts'
import { pragma } from './pragma.ts'

const PAGE_BYTES = 4_096
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

describe('opening the database', () => {
  it('G1: makes one that is durable, marked as ours, and up to date', () => {
    const database = openDatabase(newPath(), { create: true })

    assert.equal(database.prepare('pragma journal_mode').get()?.['journal_mode'], 'wal')
    assert.equal(pragma(database, 'synchronous'), 2)
    assert.equal(database.prepare('pragma foreign_keys').get()?.['foreign_keys'], 1)
    assert.equal(pragma(database, 'application_id'), APPLICATION_ID)
    assert.ok(pragma(database, 'user_version') > 0)
    database.close()
  })

  it('makes its folder for this user alone', () => {
    const path = join(newFolder(), 'deeper', 'data', 'nuncio.db')

    openDatabase(path, { create: true }).close()

    assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700)
  })

  it('opens one in memory for tests', () => {
    const database = openDatabase(':memory:', { create: true })

    assert.ok(database.prepare('select count(*) as messages from message').get())
    database.close()
  })

  it('keeps what it holds when it is opened again', () => {
    const path = newDatabase()
    change(path, `insert into account (id, name, created_at) values ('a', 'Acme', 1)`)

    const database = openDatabase(path, { create: true })

    assert.equal(database.prepare('select name from account').get()?.['name'], 'Acme')
    database.close()
  })

  it('makes none for a visitor', () => {
    assertRefused('database_unavailable', () => openDatabase(newPath(), { create: false }))
  })
})

describe('opening what is no healthy database of ours', () => {
  it('G11: refuses a file that is no database, and leaves it as it was', () => {
    const path = newPath()
    writeFileSync(path, 'a letter to grandmother\n'.repeat(1_000))
    const before = readFileSync(path)

    assertRefused('database_foreign', () => openDatabase(path, { create: true }))
    assert.deepEqual(readFileSync(path), before)
  })

  it('refuses the database of another program, and leaves it as it was', () => {
    const path = newPath()
    change(path, 'create table recipe (name text); insert into recipe values (1)')
    const before = readFileSync(path)

    assertRefused('database_foreign', () => openDatabase(path, { create: true }))
    assert.deepEqual(readFileSync(path), before)
  })

  it('G11: refuses a damaged one', () => {
    const path = newDatabase()
    const bytes = readFileSync(path)
    for (let page = 1; page * PAGE_BYTES < bytes.length; page++)
      bytes.fill(0xff, page * PAGE_BYTES, page * PAGE_BYTES + 200)
    writeFileSync(path, bytes)

    assertRefused('database_damaged', () => openDatabase(path, { create: true }))
  })

  it('refuses one that a newer version has changed for good', () => {
    const path = newDatabase()
    change(path, `insert into migration values (9999, 'from-the-future', 1); pragma user_version = 9999`)

    const refusal = assertRefused('database_newer', () => openDatabase(path, { create: true }))
    assert.match(refusal.message, /from-the-future/)
    assertRefused('database_newer', () => openDatabase(path, { create: false }))
  })

  it('bears one that a newer version has only added to', () => {
    const path = newDatabase()
    change(path, `insert into migration values (9999, 'one-more-index', 0); pragma user_version = 9999`)

    openDatabase(path, { create: true }).close()
    openDatabase(path, { create: false }).close()
  })

  it('refuses one in which nothing was made yet to a visitor', () => {
    const path = newPath()
    writeFileSync(path, '')

    const refusal = assertRefused('database_unavailable', () => openDatabase(path, { create: false }))

    assert.match(refusal.message, /^There is nothing in the database at .* yet\. Start the service once: nuncio serve$/)
  })

  it('refuses one that another program keeps to itself', () => {
    const path = newDatabase()
    const holder = new DatabaseSync(path)
    holder.exec('pragma locking_mode = exclusive; begin exclusive')

    assertRefused('database_unavailable', () => openDatabase(path, { create: false, busyTimeoutMs: 0 }))
    holder.close()
  })

  it('refuses a folder where a file should be', () => {
    const folder = newFolder()

    const refusal = assertRefused('database_unavailable', () => openDatabase(folder, { create: true }))

    assert.match(refusal.message, new RegExp(`^${folder} is a folder, and must be a file\\. Move it away, or point`))
  })

  it('refuses a path through a file', () => {
    const path = newPath()
    writeFileSync(path, '')

    const below = join(path, 'nuncio.db')

    const refusal = assertRefused('database_unavailable', () => openDatabase(below, { create: true }))

    assert.match(refusal.message, new RegExp(`because ${path} is not a folder\\. Point NUNCIO_DATA_DIR`))
  })
})

describe('bringing the database up to date', () => {
  it('returns the versions before and after', () => {
    const path = newPath()

    const [made, again] = [migrateDatabase(path), migrateDatabase(path)]

    assert.equal(made.from, 0)
    assert.ok(made.to > 0)
    assert.deepEqual(again, { from: made.to, to: made.to })
  })

  it('refuses what is no database', () => {
    const path = newPath()
    writeFileSync(path, 'x'.repeat(10_000))

    assertRefused('database_foreign', () => migrateDatabase(path))
  })
})

function assertRefused(code: RefusalCode, act: () => unknown): Refusal {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    return error
  }
  return assert.fail('it was not refused')
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-open-database-'))
  folders.push(folder)
  return folder
}

function newPath(): string {
  return join(newFolder(), 'nuncio.db')
}

function newDatabase(): string {
  const path = newPath()
  openDatabase(path, { create: true }).close()
  return path
}

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}
