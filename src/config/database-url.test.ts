import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { databaseUrl, describeDatabase, postgresUrl } from './database-url.ts'
import { readSettings } from './read-settings.ts'

function show(text: string): string {
  return databaseUrl.show?.(text) ?? text
}

describe('the URL of a database', () => {
  it.each([
    'postgres://nuncio:secret@db.example:5433/nuncio',
    'postgresql://nuncio:secret@db.example/nuncio?sslmode=require',
    'postgres://nuncio@[fd00::1]/nuncio',
    'postgres:///nuncio?host=/var/run/postgresql',
    'postgres://nuncio:secret@localhost/nuncio?host=/var/run/postgresql',
    'postgres://nuncio:%2F%3F%23%40%25@db/nuncio',
    'postgres://nuncio:a:b!$&*@db/nuncio',
  ])('takes %s', (text) => {
    assert.deepEqual(databaseUrl.parse(text), { value: { engine: 'postgres', url: text } })
    assert.deepEqual(postgresUrl.parse(text), { value: text })
  })

  it.each([
    ['postgres://', 'names no host'],
    ['postgres:nuncio', 'it must be postgres://'],
    ['postgres://nuncio:secret@db', 'names no database'],
    ['postgres://nuncio:secret@db/', 'names no database'],
    ['postgres://nuncio:secret@db/one/two', 'names no database'],
    ['postgres://nuncio:secret@/nuncio', 'it must be postgres://'],
    ['postgres:///nuncio', 'names no host'],
    ['postgres://nuncio:secret@/nuncio?host=/run/pg', 'postgres://user:password@localhost/database?host=/FOLDER'],
    ['postgres:?host=/run/pg', 'postgres:///database?host=/FOLDER'],
    ['postgres://nuncio:secret@db:port/nuncio', 'it must be postgres://'],
    ['postgres://nuncio:secret@db1,db2/nuncio', 'several hosts'],
    ['postgres://nuncio:sec/ret@db/nuncio', 'write / as %2F'],
    ['postgres://nuncio:sec?ret@db/nuncio', 'write / as %2F'],
    ['postgres://nuncio:sec#ret@db/nuncio', 'write / as %2F'],
    ['postgres://nuncio:sec@ret@db/nuncio', 'write / as %2F'],
    ['postgres://nuncio:sec%ret@db/nuncio', 'write / as %2F'],
  ])('refuses %s', (text, why) => {
    const parsed = databaseUrl.parse(text)

    assert.ok('wrong' in parsed)
    assert.ok(parsed.wrong.includes(why), parsed.wrong)
    assert.doesNotMatch(parsed.wrong, /secret|ret@/)
  })

  it.each(['sqlite:/var/lib/n.db', 'mysql://db/nuncio', '/var/lib/n.db'])('is none of PostgreSQL: %s', (text) => {
    assert.ok('wrong' in postgresUrl.parse(text))
  })

  it.each([
    ['postgres://anna:hunter2@db:5432/nuncio', 'postgres://anna:********@db:5432/nuncio'],
    ['postgresql://anna@db/nuncio', 'postgresql://anna@db/nuncio'],
    ['postgres://db/nuncio?user=anna&password=hunter2', 'postgres://db/nuncio?user=anna&password=********'],
    ['postgres://anna:hun/ter2@db/nuncio', 'postgres://********'],
    ['postgres://anna:hunter2@db', 'postgres://********'],
    ['postgre://anna:hunter2@db/nuncio', '********'],
    ['anna:hunter2@db/nuncio', '********'],
    ['sqlite:/var/lib/n.db', 'sqlite:/var/lib/n.db'],
    ['/var/lib/n.db', '/var/lib/n.db'],
  ])('is shown without its password: %s', (text, shown) => {
    assert.equal(show(text), shown)
  })

  it('never shows a piece of a password, whatever signs are in it', () => {
    const signs = [...'!"$%&\'()*+,-./:;<=>?@[]\\^_`{|}~# ', 'ü', '%2F', '%zz', '://', '//', '@@']
    for (const sign of signs) {
      for (const password of [`QZX${sign}VKW`, `${sign}QZX`, `QZX${sign}`]) {
        const text = `postgres://anna:${password}@db/nuncio`
        for (const setting of ['NUNCIO_DATABASE_URL', 'NUNCIO_DATABASE_LISTEN_URL', 'NUNCIO_DATABASE_MIGRATE_URL']) {
          const { readings, problems } = readSettings({ environment: { [setting]: text }, envFile: {} })

          assert.doesNotMatch(JSON.stringify([readings, problems]), /QZX|VKW/, `${setting} ${password}`)
        }
      }
    }
  })

  it.each(['prefer', 'require', 'verify-ca'])('is warned of once, in our words, where it says sslmode=%s', (mode) => {
    const NUNCIO_DATABASE_URL = `postgres://nuncio:secret@db/nuncio?sslmode=${mode}`

    const { warnings } = readSettings({ environment: { NUNCIO_DATABASE_URL }, envFile: {} })

    assert.deepEqual(
      warnings.map((sentence) => sentence.replace(/ in the URL.*, as verify-full does\. /, ' … ')),
      [`sslmode=${mode} … Write sslmode=verify-full.`],
    )
  })

  it('is not warned of where it means what it says', () => {
    for (const option of [
      'sslmode=verify-full',
      'sslmode=disable',
      'sslmode=no-verify',
      'uselibpqcompat=true&sslmode=require',
    ]) {
      const NUNCIO_DATABASE_URL = `postgres://nuncio:secret@db/nuncio?${option}`
      assert.deepEqual(readSettings({ environment: { NUNCIO_DATABASE_URL }, envFile: {} }).warnings, [])
    }
  })

  it('is described without user and password', () => {
    const postgres = { engine: 'postgres', url: 'postgres://anna:hunter2@db:5433/my%20data' } as const

    assert.equal(describeDatabase(postgres), 'PostgreSQL, db:5433/my data')
    assert.equal(
      describeDatabase({ engine: 'postgres', url: 'postgres:///nuncio?host=/run/pg' }),
      'PostgreSQL, /run/pg/nuncio',
    )
    assert.equal(
      describeDatabase({ engine: 'postgres', url: 'postgres://anna@localhost/nuncio?host=/run/pg' }),
      'PostgreSQL, /run/pg/nuncio',
    )
    assert.equal(describeDatabase({ engine: 'sqlite', path: '/data/nuncio.db' }), 'SQLite, /data/nuncio.db')
  })
})
