import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, DatabaseError } from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findFreePort } from '../../../../test/support/black-box/free-port.ts'
import { makeCertificate } from '../../../../test/support/media-world/certificates.ts'
import { PostgresServer } from '../../../../test/support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { Refusal } from '../../../core/refusals.ts'
import { withConnection } from './open-database.ts'
import { castsDoubt, classify, describeServer, type Kind, translateStatementError } from './postgres-errors.ts'

const SECRET = 'rosebud'

let database: TestDatabase

beforeAll(async () => {
  database = await openTestDatabase()
})

afterAll(() => database.drop())

function serverSays(code: string, severity = 'ERROR'): DatabaseError {
  return Object.assign(new DatabaseError('words', 5, 'error'), { code, severity })
}

function systemSays(code: string, syscall: string): Error {
  return Object.assign(new Error(`${syscall} ${code}`), { code, syscall })
}

describe('what an error leaves behind', () => {
  it.each<[Kind, Error]>([
    ['contended', serverSays('55P03')],
    ['contended', serverSays('40P01')],
    ['contended', serverSays('40001')],
    ['full', serverSays('53100')],
    ['full', serverSays('53200')],
    ['full', serverSays('53300', 'FATAL')],
    ['read-only', serverSays('25006')],
    ['data', serverSays('22021')],
    ['data', serverSays('23505')],
    ['data', serverSays('42601')],
    ['data', serverSays('54000')],
    ['denied', serverSays('42501')],
    ['not-there', serverSays('42P01')],
    ['not-there', serverSays('42703')],
    ['not-there', serverSays('42883')],
    ['used-up', Object.assign(serverSays('54000'), { routine: 'GetNewTransactionId' })],
    ['used-up', Object.assign(serverSays('54000'), { routine: 'GetNewMultiXactId' })],
    ['unknown', serverSays('57P01', 'FATAL')],
    ['unknown', serverSays('57P02', 'FATAL')],
    ['unknown', serverSays('57P05', 'FATAL')],
    ['unknown', serverSays('08006', 'FATAL')],
    ['unknown', serverSays('25P04', 'FATAL')],
    ['unknown', serverSays('XX000', 'PANIC')],
    ['unknown', serverSays('58030', 'FATAL')],
    ['not-written', serverSays('57014')],
    ['damaged', serverSays('58030')],
    ['damaged', serverSays('XX000')],
    ['damaged', serverSays('XX001')],
    ['not-written', serverSays('25P03', 'FATAL')],
    // A server that speaks German.
    ['not-written', serverSays('57014', 'FEHLER')],
    ['unknown', serverSays('XX000', 'FEHLER')],
    ['connect', serverSays('28P01', 'FATAL')],
    ['connect', serverSays('3D000', 'FATAL')],
    ['connect', serverSays('57P03', 'FATAL')],
    ['connect', systemSays('ECONNREFUSED', 'connect')],
    ['connect', systemSays('EHOSTUNREACH', 'connect')],
    ['connect', systemSays('ENOTFOUND', 'getaddrinfo')],
    ['unknown', systemSays('EHOSTUNREACH', 'read')],
    ['unknown', systemSays('ECONNRESET', 'read')],
    ['unknown', systemSays('EPIPE', 'write')],
    ['unknown', Object.assign(new Error('bad record mac'), { code: 'ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC' })],
    ['unknown', new Error('Connection terminated unexpectedly')],
    ['unknown', new Error('Query read timeout')],
    ['connect', new Error('timeout expired')],
    ['connect', new Error('Client has encountered a connection error and is not queryable')],
    ['unknown', new Error('something unexpected')],
  ])('is %s after %s', (kind, error) => {
    assert.equal(classify(error), kind)
  })

  it.each<[Kind, string, string]>([
    ['contended', 'a lock that is held', `set lock_timeout = 1; select pg_advisory_xact_lock(9, 9)`],
    ['not-written', 'a statement that takes too long', `set statement_timeout = 1; select pg_sleep(10)`],
    ['read-only', 'a write where none may be', `begin read only; create table thing ()`],
    ['data', 'a value that does not fit', `select 'x'::integer`],
    ['unknown', 'a backend that is ended', `select pg_terminate_backend(pg_backend_pid()), pg_sleep(10)`],
    ['unknown', 'an answer that does not come', `select pg_sleep(60)`],
  ])('is %s after %s on a real server', async (kind, _, sql) => {
    const [holder, client] = [0, kind === 'unknown' ? 2_000 : 20_000].map(
      (queryTimeout) => new Client({ connectionString: database.url, query_timeout: queryTimeout }),
    ) as [Client, Client]
    for (const one of [holder, client]) {
      one.on('error', () => {})
      await one.connect()
    }
    await holder.query('select pg_advisory_lock(9, 9)')

    const error = await client.query(sql).then(
      () => null,
      (thrown: unknown) => thrown,
    )
    await Promise.all([holder.end(), client.end()])

    assert.equal(classify(error), kind, String(error))
  })
})

describe('connecting in vain', () => {
  function urlWith(change: (url: URL) => void): string {
    const url = new URL(database.url)
    change(url)
    return url.href
  }

  async function sentenceFor(url: string): Promise<string> {
    const outcome = await withConnection(url, async () => {}).catch((error: unknown) => error)
    assert.ok(outcome instanceof Refusal, String(outcome))
    assert.equal(outcome.code, 'database_unavailable')
    assert.doesNotMatch(outcome.message, /\n/)
    const { password } = new URL(url)
    assert.ok(password === '' || !outcome.message.includes(password))
    return outcome.message
  }

  it.each<[string, (url: URL) => void, RegExp]>([
    ['a wrong password', (url) => (url.password = SECRET), /refuses the password of the user “\w+”\.$/],
    ['no password', (url) => (url.password = ''), /asks for a password, and the URL has none\.$/],
    ['an unknown user', (url) => Object.assign(url, { username: 'nobody', password: SECRET }), /the user “nobody”/],
    [
      'an unknown database',
      (url) => (url.pathname = '/nothing'),
      /^There is no database “nothing” at 127\.0\.0\.1:\d+\. Make it/,
    ],
    [
      'an unknown host',
      (url) => (url.hostname = 'nowhere.invalid'),
      /^The host “nowhere\.invalid” of the database is not known/,
    ],
    ['TLS where there is none', (url) => (url.search = 'sslmode=verify-full'), /does not speak TLS\. Switch it on/],
    [
      'a socket that is not there',
      (url) => (url.search = 'host=/tmp/nothing-here'),
      /^There is no socket of PostgreSQL in \/tmp/,
    ],
    [
      'a file that is not there',
      (url) => (url.search = 'sslrootcert=/nothing.pem'),
      /^A file that the URL .*\/nothing\.pem/,
    ],
  ])('for %s is reported in one sentence', async (_, change, sentence) => {
    assert.match(await sentenceFor(urlWith(change)), sentence)
  })

  it('for a port without a listener is reported in one sentence', async () => {
    const port = await findFreePort()

    const sentence = await sentenceFor(urlWith((url) => (url.port = String(port))))

    assert.equal(
      sentence,
      `Nothing listens at 127.0.0.1:${port}. Start PostgreSQL there, or correct the URL of the database.`,
    )
  })

  it('to a server other than PostgreSQL is reported in one sentence', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(server, 'listening')

    const sentence = await sentenceFor(urlWith((url) => (url.port = String((server.address() as AddressInfo).port))))
    server.close()

    assert.match(sentence, /ended the connection at once/)
  })

  it('to a silent server is given up, and reported in one sentence', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')

    const sentence = await sentenceFor(urlWith((url) => (url.port = String((server.address() as AddressInfo).port))))
    server.close()

    assert.match(sentence, /does not answer \(timeout expired\)\. Check whether it runs/)
  })
})

describe('a connection over TLS', () => {
  const names = { addresses: ['127.0.0.1'] }
  let server: PostgresServer
  let folder: string

  beforeAll(async () => {
    server = await PostgresServer.open()
    const { cert, key } = makeCertificate(names)
    folder = mkdtempSync(join(tmpdir(), 'nuncio-tls-'))
    writeFileSync(join(folder, 'ours.pem'), cert)
    writeFileSync(join(folder, 'others.pem'), makeCertificate(names).cert)
    const { uid, gid } = statSync(server.dataFolder)
    for (const [name, text] of [
      ['server.crt', cert],
      ['server.key', key],
    ] as const) {
      const file = join(server.dataFolder, name)
      writeFileSync(file, text, { mode: 0o600 })
      if (process.getuid?.() === 0) chownSync(file, uid, gid)
    }
    await server.reload({ ssl: true, ssl_cert_file: 'server.crt', ssl_key_file: 'server.key' })
  })

  afterAll(async () => {
    await server.close()
    rmSync(folder, { recursive: true })
  })

  async function usesTls(options: string): Promise<unknown> {
    const query = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'
    const [row] = await withConnection(`${server.url()}?${options}`, (ask) => ask(query))
    return row?.['ssl']
  }

  it('is used when the URL says so, and the certificate is known', async () => {
    assert.equal(await usesTls(`sslmode=verify-full&sslrootcert=${folder}/ours.pem`), true)
    assert.equal(await usesTls('sslmode=no-verify'), true)
    assert.equal(await usesTls(''), false)
  })

  it.each([
    ['', 'sslmode=verify-full'],
    ['others', 'sslmode=verify-full&sslrootcert='],
  ])('is refused in one sentence when the certificate is not known: %s', async (authority, options) => {
    const url = `${server.url()}?${options}${authority && `${folder}/${authority}.pem`}`

    await assert.rejects(
      withConnection(url, async () => {}),
      { code: 'database_unavailable', message: /^The certificate of PostgreSQL at 127\.0\.0\.1:\d+ is not trusted/ },
    )
  })
})

describe('what the server says beside an answer', () => {
  it.each([
    [true, { code: '01000', routine: 'SyncRepWaitForLSN' }],
    [true, { code: '57P01' }],
    [false, { code: '00000' }],
    [false, {}],
    [false, { code: '01000', routine: 'GetNewTransactionId' }],
    [false, { code: '01000', routine: 'GetNewMultiXactId' }],
  ])('casts doubt on it: %s for %o', (doubt, notice) => {
    assert.equal(castsDoubt(notice), doubt)
  })
})

describe('the sentence for a person whose change failed', () => {
  const url = `postgres://nuncio:${SECRET}@db.example/nuncio`

  it.each([
    [serverSays('55P03'), 'database_busy', /Nothing was changed: try again/],
    [serverSays('53100'), 'database_unavailable', /db\.example:5432 is out of room \(words\)\. Nothing was changed/],
    [
      Object.assign(serverSays('54000'), { routine: 'GetNewTransactionId' }),
      'database_unavailable',
      /has used up its transactions \(words\)\. Nothing was changed: .*vacuumdb/,
    ],
    [serverSays('25006'), 'database_unavailable', /takes no writes.*name the primary/],
    [serverSays('42501'), 'database_unavailable', /denies its user a right \(words\)\. Nothing was changed: grant it/],
    [
      serverSays('42P01'),
      'database_unavailable',
      /have changed \(words\)\. Nothing was changed: use the newest version/,
    ],
    [serverSays('57014'), 'database_unavailable', /gave up: words\. Nothing was changed/],
    [serverSays('57P01', 'FATAL'), 'database_unavailable', /broke \(words\).*check whether it was done/],
    [new Error('Connection terminated unexpectedly'), 'database_unavailable', /check whether it was done/],
  ])('of %s says what to do', (error, code, sentence) => {
    const refusal = translateStatementError(error, url)

    assert.ok(refusal instanceof Refusal)
    assert.equal(refusal.code, code)
    assert.match(refusal.message, sentence)
    assert.ok(!refusal.message.includes(SECRET))
  })

  it('leaves faults of ours as they are', () => {
    const fault = serverSays('42601')

    assert.equal(translateStatementError(fault, url), fault)
  })

  it.each([
    ['postgres://u:p@db.example/n', 'db.example:5432'],
    ['postgres://u:p@db.example:6432/n', 'db.example:6432'],
    ['postgres://u:p@[::1]/n', '::1:5432'],
    ['postgres:///n?host=/run/postgresql', '/run/postgresql:5432'],
  ])('names the server of %s', (address, server) => {
    assert.equal(describeServer(address), server)
  })
})
