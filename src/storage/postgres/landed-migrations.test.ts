import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  addLanded,
  findEdits,
  LANDED_COMMAND,
  type Landed,
  parseLanded,
  printLanded,
  readLanded,
} from '../../../test/support/migrations/landed.ts'

const FILE = new URL('./landed-migrations.txt', import.meta.url)
const STORAGE = new URL('../', import.meta.url)
const CHANGELOG = new URL('../../../CHANGELOG.md', import.meta.url)

const HEADING = `What the migrations of both engines bring: the number of each, the version that was being made, and a digest of its own text
and of every file of functions that it includes. A database has each of them as it was when it came, and never hears of a change of
it. So what stands here is not changed any more: a new migration brings what is new, and includes functions that were changed. Only
the newest migration may be written down again, while no released version has it. Comments and white space do not count.

Written by: ${LANDED_COMMAND}
It adds what is new, and refuses what would change what has landed.

`

describe('what migrations have brought to databases that exist', () => {
  it('is not changed by an edit of their files, which only new databases would notice', async () => {
    const known = parseLanded(readFileSync(FILE, 'utf8'))
    const { version, unreleased } = readVersion(readFileSync(CHANGELOG, 'utf8'))
    const present = readLanded(STORAGE, version)

    const edits = findEdits(known, present, unreleased)
    assert.deepEqual(
      edits.filter(({ isOpen }) => !isOpen).map(({ sentence }) => sentence),
      [],
    )
    const written = expect(`${HEADING}${printLanded(addLanded(known, present, unreleased))}`)
    const open = edits.map(({ sentence }) => sentence).join('\n')
    await written.toMatchFileSnapshot(FILE.pathname).catch((error: unknown) => {
      throw open === '' ? error : new Error(open, { cause: error })
    })
  })
})

/** Of the changelog: which version is being made, and whether it is still to be released. */
function readVersion(changelog: string): { readonly version: string; readonly unreleased: string | null } {
  const [, version = '', more] = /^## ([^\s,]+)(, not released yet)?$/m.exec(changelog) ?? []
  return { version, unreleased: more === undefined ? null : version }
}

describe('an edit of what has landed', () => {
  let folder: string
  let storage: URL
  let known: readonly Landed[]

  // Everything in it has been released, with 1.0.0. 1.1.0 is being made.
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-landed-'))
    for (const part of ['postgres/migrations', 'postgres/functions', 'sqlite/migrations'])
      cpSync(new URL(part, STORAGE), join(folder, part), { recursive: true })
    storage = pathToFileURL(`${folder}/`)
    known = readLanded(storage, '1.0.0')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  const NEWEST = readLanded(STORAGE, '1.0.0').reduce((most, { by }) => Math.max(most, by), 0)
  const NEXT = String(NEWEST + 1).padStart(4, '0')
  const NEXT_FILE = `postgres/migrations/${NEXT}-more.sql`

  function change(file: string, edit: (sql: string) => string): void {
    const path = join(folder, file)
    writeFileSync(path, edit(readFileSync(path, 'utf8')))
  }

  function write(file: string, sql: string): void {
    writeFileSync(join(folder, file), sql)
  }

  /** What is refused although it should be written down, and what only waits for that. */
  function edits(): { refused: string[]; waiting: string[] } {
    const found = findEdits(known, readLanded(storage, '1.1.0'), '1.1.0')
    const sentences = (isOpen: boolean) => found.filter((one) => one.isOpen === isOpen).map(({ sentence }) => sentence)
    return { refused: sentences(false), waiting: sentences(true) }
  }

  function writeDown(): void {
    assert.deepEqual(edits().refused, [])
    known = parseLanded(printLanded(addLanded(known, readLanded(storage, '1.1.0'), '1.1.0')))
  }

  it('is not found where nothing was changed, nor where only comments and white space were', () => {
    assert.deepEqual(edits(), { refused: [], waiting: [] })

    change('postgres/functions/hold.sql', (sql) => `-- isn't it\n${sql.replaceAll('\n', '\n  ')}/* "more */\n`)
    change('sqlite/migrations/0012-notices.sql', (sql) => sql.replaceAll(/^--(?! breaking).*\n/gm, ''))

    assert.deepEqual(edits(), { refused: [], waiting: [] })
  })

  it('negative control: is refused of functions that no newer migration includes', () => {
    change('postgres/functions/hold.sql', (sql) => `${sql}\nselect 1;`)

    const { refused, waiting } = edits()

    assert.deepEqual(waiting, [])
    assert.equal(refused.length, 1)
    assert.match(
      refused[0] ?? '',
      /^src\/storage\/postgres\/functions\/hold\.sql was changed, .*migration \d+ keep what it was: write a new migration that includes it\. Then run: npx vitest run .* -u$/,
    )
  })

  it('negative control: is refused of functions that a new migration forgets', () => {
    change('postgres/functions/media.sql', (sql) => `${sql}\nselect 1;`)
    write(NEXT_FILE, '-- breaking: no\n-- include functions/hold.sql\n')

    assert.match(edits().refused.join('\n'), /^src\/storage\/postgres\/functions\/media\.sql was changed/)
    assert.equal(edits().waiting.length, 2)
  })

  it('negative control: is refused of what is quoted, where white space counts', () => {
    write(NEXT_FILE, `insert into thing values ('a  b');`)
    writeDown()
    known = known.map((one) => ({ ...one, version: '1.0.0' }))

    write(NEXT_FILE, `insert into thing values ('a b');`)

    assert.match(edits().refused.join('\n'), /more\.sql was changed/)
  })

  it.each([
    ['its text', (sql: string) => `${sql}\nselect 1;`],
    ['what it includes', (sql: string) => sql.replace(/^-- include .*$/m, '')],
    ['whether older code may go on', (sql: string) => sql.replace('-- breaking: no', '-- breaking: yes')],
  ])('negative control: is refused of a migration: %s', (_, edit) => {
    change('postgres/migrations/0022-bad-ends-told-later.sql', edit)

    assert.match(
      edits().refused.join('\n'),
      /src\/storage\/postgres\/migrations\/0022-bad-ends-told-later\.sql was changed, .*put it back, and write a new migration/,
    )
  })

  it('negative control: is refused of a migration of SQLite', () => {
    change('sqlite/migrations/0003-reminders.sql', (sql) => sql.replace('remind_at', 'reminded_at'))

    assert.match(edits().refused.join('\n'), /^src\/storage\/sqlite\/migrations\/0003-reminders\.sql was changed/)
  })

  it('negative control: is refused of a migration that is gone, or has got another name', () => {
    rmSync(join(folder, 'sqlite/migrations/0003-reminders.sql'))
    const from = join(folder, 'postgres/migrations/0003-reminders.sql')
    renameSync(from, from.replace('reminders', 'memory'))

    assert.deepEqual(edits().refused, [
      'src/storage/postgres/migrations/0003-reminders.sql is gone, and there are databases that have it: put it back.',
      'src/storage/sqlite/migrations/0003-reminders.sql is gone, and there are databases that have it: put it back.',
    ])
  })

  it('is none where a new migration includes the functions, and is written down once', () => {
    change('postgres/functions/hold.sql', (sql) => `${sql}\nselect 1;`)
    write(NEXT_FILE, '-- breaking: no\n-- include functions/hold.sql\n')

    const before = edits()
    writeDown()

    assert.deepEqual(before.refused, [])
    assert.match(before.waiting.join('\n'), /more\.sql, which migration \d+ brings, is not written down yet\. Run: npx/)
    assert.deepEqual(edits(), { refused: [], waiting: [] })
  })

  it('may be written down while the newest migration is not released, and says what one must know', () => {
    write(NEXT_FILE, '-- breaking: no\n-- include functions/hold.sql\n')
    writeDown()

    change(NEXT_FILE, (sql) => `${sql}\nselect 1;`)
    change('postgres/functions/hold.sql', (sql) => `${sql}\nselect 1;`)

    const { refused, waiting } = edits()
    assert.deepEqual([refused, waiting.length], [[], 2])
    for (const sentence of waiting)
      assert.match(sentence, /unless no released version has that migration, .*Then run: npx/)
    writeDown()
    assert.deepEqual(edits(), { refused: [], waiting: [] })
    known = known.map((one) => ({ ...one, version: '1.0.0' }))
    change(NEXT_FILE, (sql) => `${sql}\nselect 2;`)
    assert.match(edits().refused.join('\n'), /more\.sql was changed/)
  })

  it('is still known of functions that the newest migration changes no longer', () => {
    change('postgres/functions/hold.sql', (sql) => `${sql}\nselect 1;`)
    write(NEXT_FILE, '-- breaking: no\n-- include functions/hold.sql\n')
    writeDown()

    change(NEXT_FILE, (sql) => sql.replace(/^-- include .*$/m, 'select 1;'))

    assert.match(edits().refused.join('\n'), /hold\.sql was changed, and databases that have migration \d+ keep/)
    change('postgres/functions/hold.sql', (sql) => sql.replace('\nselect 1;', ''))
    writeDown()
    assert.deepEqual(edits(), { refused: [], waiting: [] })
  })
})
