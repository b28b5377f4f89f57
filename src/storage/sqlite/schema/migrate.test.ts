import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { Refusal, type RefusalCode } from '../../../core/refusals.ts'
import type { Migration } from '../../queries/migrations.ts'
import { openDatabase } from '../connection/open-database.ts'
import { pragma } from '../connection/pragma.ts'
import { translateOpenError } from '../connection/sqlite-errors.ts'
import { surveyDatabase } from '../safety/survey-database.ts'
import { copyOnline } from '../transfer/copy-online.ts'
import { CopySource } from '../transfer/copy-source.ts'
import { applyMigrations, checkMigrations, readMigrations } from './migrate.ts'

const NEWEST = readMigrations().length
const LATER = Array.from({ length: 29 }, (_, index) => index + 2)
const FILLING: Migration = {
  number: NEWEST + 2,
  name: 'fills',
  sql: 'create table filled (bytes blob); insert into filled values (zeroblob(1000000));',
  breaking: false,
}

describe('the migrations of SQLite', () => {
  it('are noted in the database, each once, however often they are applied', () => {
    const database = new DatabaseSync(':memory:')

    applyMigrations(database, ':memory:')
    applyMigrations(database, ':memory:')

    const noted = database.prepare('select number, name from migration order by number').all()
    assert.deepEqual(
      noted.map((row) => ({ ...row })),
      readMigrations().map(({ number, name }) => ({ number, name })),
    )
    assert.equal(pragma(database, 'user_version'), readMigrations().length)
    database.close()
  })

  it('leave nothing behind when one of them fails, and say which and what to do', () => {
    const database = new DatabaseSync(':memory:')
    database.exec('create table notice (in_the_way integer)')

    assertRefused(
      'database_unavailable',
      /\(migration 1, baseline-\w+\): .*already exists.* Nothing was changed, .*try again/,
      () => applyMigrations(database, 'here'),
    )

    assert.equal(pragma(database, 'user_version'), 0)
    assert.equal(pragma(database, 'application_id'), 0)
    assert.equal(database.prepare('select count(*) as tables from sqlite_schema').get()?.['tables'], 1)
    assert.equal(database.isTransaction, false)
    database.close()
  })

  it('leave the version before as it was when a later one fails', () => {
    const database = migrated()
    const before = schemaOf(database)
    const later = future('create table half (id integer);')
    const failing = future('select * from nowhere;', { number: NEWEST + 2, name: 'later-still' })

    assertRefused('database_unavailable', new RegExp(`here .*migration ${NEWEST + 2}, later-still\\): .*nowhere`), () =>
      migrateWith(database, later, failing),
    )

    assert.deepEqual([pragma(database, 'user_version'), schemaOf(database)], [NEWEST, before])
    migrateWith(database, later)
    assert.equal(pragma(database, 'user_version'), NEWEST + 1)
    database.close()
  })

  it('leave the version before as it was when the disk is full, and say so', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-migrate-'))
    const path = join(folder, 'nuncio.db')
    openDatabase(path, { create: true }).close()
    const database = new DatabaseSync(path)
    const before = schemaOf(database)
    database.exec(`pragma max_page_count = ${pragma(database, 'page_count') + 4}`)

    const migrating = () => migrateWith(database, future('create table half (id integer);'), FILLING)

    assert.throws(migrating, (error: unknown) => {
      const refusal = translateOpenError(error, path)
      assert.ok(refusal instanceof Refusal)
      assert.match(refusal.message, /no room left on the disk of .* Nothing was changed: make room/)
      return true
    })
    assert.deepEqual([pragma(database, 'user_version'), schemaOf(database)], [NEWEST, before])
    database.close()
    rmSync(folder, { recursive: true })
  })

  it('are left alone when one would change the database for good while an older version serves', () => {
    const database = migrated()
    const breaking = future('create table thing (id integer);', { breaking: true })
    database.exec(
      `insert into worker (id, heartbeat_until, host, pid) values ('w', unixepoch() * 1000 + 15000, 'db-1', 77)`,
    )

    assertRefused('database_busy', /older version .* in process 77 on db-1\. Nothing was changed\. Stop it/, () =>
      migrateWith(database, future('create table half (id integer);', { number: NEWEST + 1 }), {
        ...breaking,
        number: NEWEST + 2,
      }),
    )

    assert.equal(pragma(database, 'user_version'), NEWEST)
    database.exec(`update worker set heartbeat_until = 0;
      insert into worker (id, heartbeat_until) values ('before the clock was set back', unixepoch() * 1000 + 3600000)`)
    migrateWith(database, breaking)
    assert.equal(pragma(database, 'user_version'), NEWEST + 1)
    database.close()
  })
})

describe('a database of another version', () => {
  let folder: string
  let path: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-migrate-'))
    path = join(folder, 'nuncio.db')
    openDatabase(path, { create: true }).close()
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  function change(sql: string): void {
    const database = new DatabaseSync(path)
    database.exec(sql)
    database.close()
  }

  function within<Result>(work: (database: DatabaseSync) => Result): Result {
    const database = new DatabaseSync(path)
    try {
      return work(database)
    } finally {
      database.close()
    }
  }

  it('that is older is refused by commands with a sentence that says what to do, and brought up to date by the service', () => {
    const more = future('create table thing (id integer);')
    const before = readFileSync(path)

    assertRefused('database_unavailable', /older version\. Bring it up to date: nuncio migrate$/, () =>
      within((database) => checkMigrations(database, path, [...readMigrations(), more])),
    )

    assert.deepEqual(readFileSync(path), before)
    within((database) => migrateWith(database, more))
    within((database) => checkMigrations(database, path, [...readMigrations(), more]))
  })

  it.each([
    ['another baseline', `update migration set name = 'baseline-0123456789ab'`],
    [
      'the thirty migrations of before',
      `update migration set name = 'first-tables';
       insert into migration select value, 'more', 0 from json_each('${JSON.stringify(LATER)}'); pragma user_version = 30`,
    ],
  ])('that was made from %s is refused with a sentence that says what to do, and left as it was', (_, sql) => {
    change(`pragma journal_mode = delete; ${sql}`)
    const before = readFileSync(path)

    const sentence =
      /^The database at \S+nuncio\.db was made by .* before the first release, .*Point NUNCIO_DATA_DIR at an empty folder, or run the version that made it\.$/
    for (const use of [
      () => openDatabase(path, { create: true }),
      () => openDatabase(path, { create: false }),
      () => surveyDatabase(path),
      () => new CopySource(path),
    ])
      assertRefused('database_unsupported', sentence, use)

    assert.deepEqual(readFileSync(path), before)
  })

  it('that was made from another baseline is not backed up', async () => {
    change(`update migration set name = 'baseline-0123456789ab'`)

    const copying = copyOnline({ path, target: join(folder, 'copy.db'), onProgress: () => {} })

    await assert.rejects(copying, { code: 'database_unsupported' })
  })
})

/** What a version after ours would bring. */
function future(sql: string, more: Partial<Migration> = {}): Migration {
  return { number: NEWEST + 1, name: 'from-the-future', sql, breaking: false, ...more }
}

function migrated(): DatabaseSync {
  const database = new DatabaseSync(':memory:')
  applyMigrations(database, 'here')
  return database
}

function migrateWith(database: DatabaseSync, ...more: readonly Migration[]): void {
  applyMigrations(database, 'here', [...readMigrations(), ...more])
}

function schemaOf(database: DatabaseSync): string[] {
  return database
    .prepare('select name, sql from sqlite_schema order by name')
    .all()
    .map(({ name, sql }) => `${String(name)} ${String(sql)}`)
}

function assertRefused(code: RefusalCode, sentence: RegExp, act: () => void): void {
  assert.throws(act, (error: unknown) => {
    assert.ok(error instanceof Refusal, String(error))
    assert.equal(error.code, code)
    assert.match(error.message, sentence)
    return true
  })
}
