import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { openTestFolder, type TestFolder } from '../../support/black-box/test-folder.ts'

let folder: TestFolder
let path: string
let service: NuncioCli
let cli: QuickCli

beforeEach(() => {
  folder = openTestFolder()
  const dataDir = join(folder.path, 'data')
  path = join(dataDir, 'nuncio.db')
  const environment = { NUNCIO_PORT: '0' }
  service = new NuncioCli({ dataDir, workDir: folder.path, environment })
  cli = new QuickCli({ dataDir, environment })
})

afterEach(() => folder.remove())

function change(sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

interface Obstacle {
  readonly what: string
  /** Brings a new database into this state. */
  readonly bring: () => void
  readonly sentence: RegExp
}

const OBSTACLES: readonly Obstacle[] = [
  {
    what: 'a newer version has changed it so that this one must not run',
    bring: () => change(`insert into migration values (9999, 'from-the-future', 1); pragma user_version = 9999`),
    sentence:
      /^nuncio: The database at \S+ was changed by a newer version .*Run that version, or .* \(database_newer\)$/,
  },
  {
    what: 'it was made from another baseline',
    bring: () => change(`update migration set name = 'first-tables'`),
    sentence:
      /^nuncio: The database at \S+ was made by .* Point NUNCIO_DATA_DIR at an empty folder, .* \(database_unsupported\)$/,
  },
  {
    what: 'it is of another program',
    bring: () => {
      rmSync(path)
      change('create table recipe (name text)')
    },
    sentence: /^nuncio: \S+nuncio\.db is not a database of Nuncio\. Point NUNCIO_DATA_DIR .* \(database_foreign\)$/,
  },
  {
    what: 'it is no database',
    bring: () => writeFileSync(path, 'a letter to grandmother\n'.repeat(1_000)),
    sentence: /^nuncio: \S+nuncio\.db is not a database, or .* Restore a backup, or .* \(database_foreign\)$/,
  },
  {
    what: 'it was cut short',
    bring: () => truncateSync(path, 200_000),
    sentence: /^nuncio: \S+nuncio\.db is damaged\. Keep a copy .* restore a backup; .* \(database_damaged\)$/,
  },
  {
    what: 'it is a folder',
    bring: () => {
      rmSync(path)
      mkdirSync(path)
    },
    sentence: /^nuncio: \S+nuncio\.db is a folder, and must be a file\. Move it away, .* \(database_unavailable\)$/,
  },
]

const COMMANDS = ['migrate', 'account list', 'account create Acme']

describe('an unusable SQLite database', () => {
  it.each(OBSTACLES)('is refused with one sentence by the service and by every command: $what', async (obstacle) => {
    await cli.run('migrate')
    obstacle.bring()
    const before = bytes()

    const answers = [await service.run('serve')]
    for (const command of COMMANDS) answers.push(await cli.run(...command.split(' ')))

    for (const [at, { code, stdout, stderr }] of answers.entries()) {
      const [sentence = '', ...more] = stderr.trimEnd().split('\n')
      assert.deepEqual([code, stdout, more], [1, '', []], `${['serve', ...COMMANDS][at]}: ${stderr}`)
      assert.match(sentence, obstacle.sentence)
    }
    assert.deepEqual(bytes(), before)
  })

  it('is used if a newer version has only added to it', async () => {
    await cli.run('migrate')
    change(`insert into migration values (9999, 'one-more', 0); pragma user_version = 9999; create table more (a)`)

    const migrated = await cli.run('migrate')
    const made = await cli.run('account', 'create', 'Acme')

    assert.deepEqual([migrated.code, migrated.stderr, made.code, made.stderr], [0, '', 0, ''])
    assert.match(migrated.stdout, /up to date \(version 9999\)/)
  })
})

function bytes(): Buffer | null {
  try {
    return readFileSync(path)
  } catch {
    return null
  }
}
