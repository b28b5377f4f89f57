import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'vitest'
import { applyMigrations, readMigrations } from './migrate.ts'
import { pragma } from './pragma.ts'

const FOLDER = new URL('./migrations/', import.meta.url)

describe('the migrations', () => {
  it('are numbered without gaps, from 1 on', () => {
    assert.deepEqual(
      readMigrations().map(({ number }) => number),
      readMigrations().map((_, index) => index + 1),
    )
  })

  it.each(readdirSync(FOLDER).filter((file) => file.endsWith('.sql')))(
    '%s begins by saying why, what it locks and whether old code may go on',
    (file) => {
      const [why, ...rest] = readFileSync(new URL(file, FOLDER), 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('-- '))

      assert.match(why ?? '', /^-- Why: /)
      assert.ok(rest.some((line) => line.startsWith('-- Locks: ')))
      assert.ok(rest.some((line) => /^-- breaking: (?:yes|no)$/.test(line)))
    },
  )

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

  it('leave nothing behind when one of them fails', () => {
    const database = new DatabaseSync(':memory:')
    database.exec('create table message (in_the_way integer)')

    assert.throws(() => applyMigrations(database, ':memory:'), /already exists/)

    assert.equal(pragma(database, 'user_version'), 0)
    assert.equal(database.prepare('select count(*) as tables from sqlite_schema').get()?.['tables'], 1)
    assert.equal(database.isTransaction, false)
    database.close()
  })
})
