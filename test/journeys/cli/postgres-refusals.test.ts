import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { migrateDatabase } from '../../../src/storage/postgres/connection/open-database.ts'
import { findFreePort } from '../../support/black-box/free-port.ts'
import { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { openTestFolder, type TestFolder } from '../../support/black-box/test-folder.ts'
import { withClient } from '../../support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../support/postgres/test-database.ts'

const PASSWORD = 'hunter2'

let folder: TestFolder
let database: TestDatabase

beforeEach(async () => {
  folder = openTestFolder()
  database = await openTestDatabase()
})

afterEach(async () => {
  await database.drop()
  folder.remove()
})

/** The URL with what a person would change in it. It contains a password, whatever else is wrong. */
function urlWith(change: (url: URL) => void): string {
  const url = new URL(database.url)
  change(url)
  return url.href
}

interface Obstacle {
  readonly what: string
  readonly openUrl: () => Promise<string>
  readonly sentence: RegExp
}

const OBSTACLES: readonly Obstacle[] = [
  {
    what: 'nothing listens there',
    openUrl: async () => {
      const port = String(await findFreePort())
      return urlWith((url) => Object.assign(url, { port, password: PASSWORD }))
    },
    sentence: /^nuncio: Nothing listens at 127\.0\.0\.1:\d+\. Start PostgreSQL there, .* \(database_unavailable\)$/,
  },
  {
    what: 'the password is wrong',
    openUrl: async () => urlWith((url) => Object.assign(url, { password: PASSWORD })),
    sentence: /^nuncio: PostgreSQL at \S+ refuses the password of the user “postgres”\. \(database_unavailable\)$/,
  },
  {
    what: 'the database is missing',
    openUrl: async () => urlWith((url) => Object.assign(url, { pathname: '/nowhere' })),
    sentence: /^nuncio: There is no database “nowhere” at \S+\. Make it first, .* \(database_unavailable\)$/,
  },
  {
    what: 'it holds tables of another program',
    openUrl: async () => {
      await withClient(database.url, (client) => client.query('create table recipe (name text)'))
      return database.url
    },
    sentence: /^nuncio: The schema “public” of the database at \S+ holds tables of another .* \(database_foreign\)$/,
  },
  {
    what: 'a newer version has changed it so that this one must not run',
    openUrl: async () => {
      await migrateDatabase({ url: database.url, migrateUrl: database.url })
      const change = `insert into migration (number, name, breaking) values (9999, 'from-the-future', true)`
      await withClient(database.url, (client) => client.query(change))
      return database.url
    },
    sentence:
      /^nuncio: The database at \S+ was changed by a newer version .*Run that version, or .* \(database_newer\)$/,
  },
  {
    what: 'it was made from another baseline',
    openUrl: async () => {
      await migrateDatabase({ url: database.url, migrateUrl: database.url })
      await withClient(database.url, (client) => client.query(`update migration set name = 'first-tables'`))
      return database.url
    },
    sentence:
      /^nuncio: The database at \S+ was made by .* Name an empty database in NUNCIO_DATABASE_URL, .* \(database_unsupported\)$/,
  },
  {
    what: 'its settings would break a promise',
    openUrl: async () => {
      const change = `alter database ${database.name} set synchronous_commit = off`
      await withClient(database.url, (client) => client.query(change))
      return database.url
    },
    sentence: /^nuncio: synchronous_commit is off: a crash would lose .* Fix it with: .* \(database_unsafe\)$/,
  },
]

const SERVICES = ['serve', 'serve --processes 2']
const COMMANDS = ['migrate', 'account list', 'account create Acme']

describe('an unusable PostgreSQL', () => {
  it.each(OBSTACLES)('is refused with one sentence by the service and by every command: $what', async (obstacle) => {
    const url = await obstacle.openUrl()
    const environment = { NUNCIO_DATABASE_URL: url, NUNCIO_PORT: '0' }
    const dataDir = `${folder.path}/data`
    const service = new NuncioCli({ dataDir, workDir: folder.path, environment })
    const cli = new QuickCli({ dataDir, environment })

    const answers = await Promise.all(SERVICES.map((command) => service.run(...command.split(' '))))
    for (const command of COMMANDS) answers.push(await cli.run(...command.split(' ')))

    for (const [at, { code, stdout, stderr }] of answers.entries()) {
      const [sentence = '', ...more] = stderr.trimEnd().split('\n')
      assert.deepEqual([code, stdout, more], [1, '', []], `${[...SERVICES, ...COMMANDS][at]}: ${stderr}`)
      assert.match(sentence, obstacle.sentence)
      assert.ok(!stderr.includes(new URL(url).password), 'it shows the password')
    }
  })
})
