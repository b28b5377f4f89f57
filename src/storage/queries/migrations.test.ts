import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { readMigrations as readMigrationsOfPostgres } from '../postgres/schema/migrate.ts'
import { readMigrations as readMigrationsOfSqlite } from '../sqlite/schema/migrate.ts'
import { readMigrationsIn } from './migrations.ts'

const SCHEMA = "create table thing (id text default 'a -> b');\n"

describe('the migrations of an engine', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-migrations-'))
    mkdirSync(join(folder, 'migrations'))
    writeFileSync(join(folder, 'schema.sql'), SCHEMA)
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  function read() {
    return readMigrationsIn(folder)
  }

  function baselineOf(schema: string): string | undefined {
    writeFileSync(join(folder, 'schema.sql'), schema)
    return read()[0]?.name
  }

  it('begin with the baseline', () => {
    const [baseline, ...more] = read()

    assert.deepEqual([baseline?.number, baseline?.sql, baseline?.breaking, more], [1, SCHEMA, false, []])
    assert.match(baseline?.name ?? '', /^baseline-[0-9a-f]{12}$/)
  })

  it('distinguish baselines by their statements, and not by comments or white space', () => {
    const name = baselineOf(SCHEMA)

    assert.equal(
      baselineOf(`-- Why.\n\n${SCHEMA.replace(' (', '  -- what\n(')}`.replace('thing  --', 'thing --')),
      name,
    )
    assert.notEqual(baselineOf(SCHEMA.replace('id text', 'id integer')), name)
    assert.notEqual(baselineOf(`${SCHEMA}insert into thing values ('b');`), name)
  })

  it('follow in the order of their numbers, and say whether older code may still run on the result', () => {
    writeFileSync(join(folder, 'migrations/0003-names.sql'), '-- breaking: yes\nselect 3;')
    writeFileSync(join(folder, 'migrations/0002-index.sql'), '-- breaking: no\nselect 2;')
    writeFileSync(join(folder, 'migrations/README.md'), 'What lies here.')

    assert.deepEqual(read().slice(1), [
      { number: 2, name: 'index', sql: '-- breaking: no\nselect 2;', breaking: false },
      { number: 3, name: 'names', sql: '-- breaking: yes\nselect 3;', breaking: true },
    ])
  })
})

describe('the migrations after the baseline', () => {
  const ENGINES = { sqlite: readMigrationsOfSqlite(), postgres: readMigrationsOfPostgres() }

  it('have the same numbers and names on both engines, without gaps', () => {
    const named = Object.values(ENGINES).map((migrations) =>
      migrations.slice(1).map(({ number, name, breaking }) => ({ number, name, breaking })),
    )

    assert.deepEqual(named[0], named[1])
    assert.deepEqual(
      named[0]?.map(({ number }) => number),
      named[0]?.map((_, index) => index + 2),
    )
  })

  it('begin by saying why, what they lock and whether older code may still run', () => {
    const files = Object.keys(ENGINES).flatMap((engine) => {
      const folder = new URL(`../${engine}/migrations/`, import.meta.url)
      const names = readdirSync(folder).filter((name) => name.endsWith('.sql'))
      return names.map((name) => ({ file: `${engine}/${name}`, sql: readFileSync(new URL(name, folder), 'utf8') }))
    })

    assert.deepEqual(
      files.filter(({ sql }) => !hasHead(sql)).map(({ file }) => file),
      [],
    )
  })

  it.each([
    ['-- Why: it is slow.\n-- Locks: nothing.\n-- breaking: no\n', true],
    ['-- Locks: nothing.\n-- breaking: no\n', false],
    ['-- Why: it is slow.\n-- breaking: no\n', false],
    ['-- Why: it is slow.\n-- Locks: nothing.\n-- breaking: perhaps\n', false],
  ])('control: the header of a migration is checked by its lines, %j: %s', (sql, expected) => {
    assert.equal(hasHead(sql), expected)
  })

  function hasHead(sql: string): boolean {
    return [/^-- Why: /, /^-- Locks: /m, /^-- breaking: (?:yes|no)$/m].every((line) => line.test(sql))
  }
})
