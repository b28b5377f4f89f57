import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { localUrl, readSettings } from './read-settings.ts'
import { SETTINGS } from './settings.ts'

const PG = 'postgres://anna:hunter2@db/nuncio'

function read(environment: Record<string, string>, envFile: Record<string, string> = {}) {
  return readSettings({ environment, envFile })
}

describe('settings', () => {
  it('need none to be set', () => {
    const { settings, problems, warnings, unknown, readings } = read({})

    assert.deepEqual([problems, warnings, unknown], [[], [], []])
    assert.equal(settings?.port, 8080)
    assert.equal(settings?.publicUrl, 'http://127.0.0.1:8080')
    assert.equal(settings?.database.engine, 'sqlite')
    assert.match(
      readings.find(({ name }) => name === 'NUNCIO_DATABASE_URL')?.value ?? '',
      /^sqlite:.*\/data\/nuncio\.db$/,
    )
    assert.deepEqual(settings?.roles, ['api', 'dispatch', 'console'])
    assert.equal(settings?.processes, 1)
    assert.equal(settings?.mediaMaxImageBytes, 5 * 1024 * 1024)
  })

  it('take a variable before the same line of the file, and an empty one as not set', () => {
    const reading = read({ NUNCIO_PORT: '9000', NUNCIO_HOST: '' }, { NUNCIO_PORT: '9001', NUNCIO_HOST: '0.0.0.0' })

    assert.equal(reading.settings?.port, 9000)
    assert.equal(reading.settings?.host, '0.0.0.0')
    const sources = Object.fromEntries(reading.readings.map(({ name, source }) => [name, source]))
    assert.equal(sources['NUNCIO_PORT'], 'environment')
    assert.equal(sources['NUNCIO_HOST'], '.env file')
    assert.equal(sources['NUNCIO_DATA_DIR'], 'default')
  })

  it('report every mistake at once, each with name, source and remedy', () => {
    const { problems, settings } = read(
      { NUNCIO_PORT: '80800', NUNCIO_SANDBOX_MAY_CRASH: 'yes' },
      { NUNCIO_TRUSTED_PROXIES: '10.0.0.0/8, proxy' },
    )

    assert.equal(settings, null)
    assert.deepEqual(
      problems.map(({ setting }) => setting),
      ['NUNCIO_PORT', 'NUNCIO_TRUSTED_PROXIES', 'NUNCIO_SANDBOX_MAY_CRASH'],
    )
    assert.equal(
      problems[0]?.sentence,
      'The setting NUNCIO_PORT "80800" (environment) is wrong: it must be a whole number from 0 to 65535.',
    )
    assert.match(problems[1]?.sentence ?? '', /\(\.env file\).*"proxy" is not one\.$/)
  })

  it('take one URL of PostgreSQL for everything, or further ones for listening and migrating', () => {
    const one = read({ NUNCIO_DATABASE_URL: PG })
    const three = read({
      NUNCIO_DATABASE_URL: PG,
      NUNCIO_DATABASE_LISTEN_URL: 'postgres://anna:hunter2@direct/nuncio',
      NUNCIO_DATABASE_MIGRATE_URL: 'postgres://owner:hunter3@direct/nuncio',
    })

    assert.deepEqual(one.settings?.database, { engine: 'postgres', url: PG, listenUrl: PG, migrateUrl: PG })
    assert.deepEqual(three.settings?.database, {
      engine: 'postgres',
      url: PG,
      listenUrl: 'postgres://anna:hunter2@direct/nuncio',
      migrateUrl: 'postgres://owner:hunter3@direct/nuncio',
    })
    assert.doesNotMatch(JSON.stringify([one.readings, three.readings]), /hunter/)
  })

  it.each([
    ['NUNCIO_PROCESSES', '2', 'NUNCIO_PROCESSES is 2, but on SQLite one process serves.'],
    ['NUNCIO_ROLES', 'api', 'NUNCIO_ROLES leaves out dispatch and console, but on SQLite one process does everything.'],
    ['NUNCIO_ROLES', 'dispatch,api', 'NUNCIO_ROLES leaves out console, but on SQLite one process does everything.'],
    [
      'NUNCIO_DATABASE_LISTEN_URL',
      'postgres://db/nuncio',
      'NUNCIO_DATABASE_LISTEN_URL has a meaning on PostgreSQL only, but the database is SQLite.',
    ],
  ])('refuse %s=%s on SQLite with one sentence that says what to set', (name, value, why) => {
    const [problem, ...others] = read({ [name]: value }).problems

    assert.deepEqual([problem?.setting, problem?.code, others], [name, 'setting_invalid', []])
    assert.ok(problem?.sentence.startsWith(why), problem?.sentence)
    assert.match(problem?.sentence ?? '', / Set NUNCIO_DATABASE_URL to a postgres:\/\/ URL, or [^.]+\.$/)
    assert.deepEqual(read({ [name]: value, NUNCIO_DATABASE_URL: PG }).problems, [])
  })

  it('say nothing of what SQLite cannot do while it is not clear which database is meant', () => {
    const { problems } = read({ NUNCIO_PROCESSES: '2', NUNCIO_DATABASE_URL: 'postgres://db' })

    assert.deepEqual(
      problems.map(({ setting }) => setting),
      ['NUNCIO_DATABASE_URL'],
    )
  })

  it('take roles in any order, each once, and refuse others', () => {
    const roles = (text: string) => read({ NUNCIO_ROLES: text, NUNCIO_DATABASE_URL: PG })

    assert.deepEqual(roles('dispatch, api,dispatch').settings?.roles, ['api', 'dispatch'])
    for (const wrong of ['api,web', ',', 'API']) assert.equal(roles(wrong).problems[0]?.setting, 'NUNCIO_ROLES', wrong)
    assert.deepEqual(roles('console').warnings, [])
  })

  it('let the command line win, and say so', () => {
    const texts = { environment: { NUNCIO_PROCESSES: '2', NUNCIO_DATABASE_URL: PG }, envFile: {} }
    const right = readSettings({ ...texts, commandLine: { NUNCIO_PROCESSES: '3', NUNCIO_ROLES: undefined } })
    const wrong = readSettings({ ...texts, commandLine: { NUNCIO_PROCESSES: '' } })

    assert.equal(right.settings?.processes, 3)
    assert.equal(right.readings.find(({ name }) => name === 'NUNCIO_PROCESSES')?.source, 'command line')
    assert.match(wrong.problems[0]?.sentence ?? '', /NUNCIO_PROCESSES "" \(command line\) is wrong/)
  })

  it.each([
    ['sqlite:/var/lib/n.db', '/var/lib/n.db'],
    ['sqlite:///var/lib/n.db', '/var/lib/n.db'],
  ])('take %s as a database', (text, path) => {
    assert.deepEqual(read({ NUNCIO_DATABASE_URL: text }).settings?.database, { engine: 'sqlite', path })
  })

  it.each(['sqlite:', 'sqlite::memory:', 'mysql://db', '/var/lib/n.db'])('refuse %s as a database', (text) => {
    assert.equal(read({ NUNCIO_DATABASE_URL: text }).problems[0]?.code, 'setting_invalid')
  })

  it('take the variables of OpenTelemetry where ours are not set, and say so', () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc',
    }
    const shared = readSettings({ environment, envFile: {} })
    const named = { ...environment, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:4319/spans' }
    const closer = readSettings({ environment: named, envFile: {} })
    const own = readSettings({ environment: named, envFile: { NUNCIO_TRACES_URL: 'http://127.0.0.1:4320/own' } })

    assert.equal(shared.settings?.tracesUrl, 'http://127.0.0.1:4318/v1/traces')
    assert.deepEqual(shared.settings.tracesHeaders, { authorization: 'Bearer abc' })
    assert.equal(
      shared.readings.find(({ name }) => name === 'NUNCIO_TRACES_URL')?.source,
      'OTEL_EXPORTER_OTLP_ENDPOINT',
    )
    assert.equal(closer.settings?.tracesUrl, 'http://127.0.0.1:4319/spans')
    assert.equal(own.settings?.tracesUrl, 'http://127.0.0.1:4320/own')
  })

  it('warn of a variable of OpenTelemetry that they cannot use, and start without it', () => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' }
    const { problems, warnings, settings } = readSettings({ environment, envFile: {} })

    assert.deepEqual([problems, settings?.tracesUrl], [[], null])
    assert.match(
      warnings.join(),
      /OTEL_EXPORTER_OTLP_ENDPOINT is not used for NUNCIO_TRACES_URL: it must be an absolute/,
    )
  })

  it.each([{ OTEL_SDK_DISABLED: 'true' }, { OTEL_TRACES_EXPORTER: 'none' }, { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }])(
    'trace nothing where OpenTelemetry says %o',
    (more) => {
      const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', ...more }

      assert.equal(readSettings({ environment, envFile: {} }).settings?.tracesUrl, null)
    },
  )

  it('keep the headers of another collector from ours, and signs that stand for themselves in their values', () => {
    const environment = { OTEL_EXPORTER_OTLP_HEADERS: 'key=a%2Cb, x=1,', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a' }
    const envFile = { NUNCIO_TRACES_URL: 'http://127.0.0.1:4320/own' }

    assert.deepEqual(readSettings({ environment, envFile: {} }).settings?.tracesHeaders, { key: 'a,b', x: '1' })
    assert.deepEqual(readSettings({ environment, envFile }).settings?.tracesHeaders, {})
  })

  it('mask secrets, right or wrong', () => {
    const right = read({ NUNCIO_METRICS_SECRET: 'a-long-enough-secret' })
    const wrong = read({ NUNCIO_METRICS_SECRET: 'too-short' })

    assert.equal(right.settings?.metricsSecret, 'a-long-enough-secret')
    assert.doesNotMatch(JSON.stringify(right.readings), /a-long-enough/)
    assert.match(wrong.problems[0]?.sentence ?? '', /at least 16 printable/)
    assert.doesNotMatch(JSON.stringify(wrong), /too-short/)
  })

  it('name the nearest setting for one that does not exist', () => {
    const { unknown, settings } = read({ NUNCIO_PROT: '1', nuncio_port: '2' }, { NUNCIO_ZZZZZZZZZZZZZZZZZZZZZZ: '3' })

    assert.ok(settings)
    assert.deepEqual(unknown, [
      'NUNCIO_PROT (environment) is no setting of Nuncio and is ignored. Did you mean NUNCIO_PORT?',
      'nuncio_port (environment) is no setting of Nuncio and is ignored. Did you mean NUNCIO_PORT?',
      'NUNCIO_ZZZZZZZZZZZZZZZZZZZZZZ (.env file) is no setting of Nuncio and is ignored.',
    ])
  })

  it('warn of what is dangerous in production', () => {
    const { warnings } = read({
      NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8',
      NUNCIO_SANDBOX_MAY_CRASH: 'true',
      NUNCIO_WHATSAPP_CLOUD_URL: 'http://127.0.0.1:4000',
      NUNCIO_WHATSAPP_WEB_URL: `ws://127.0.0.1:4001/ws/chat#${Buffer.alloc(32).toString('base64url')}`,
    })

    assert.equal(warnings.length, 4)
    assert.match(warnings[0] ?? '', /127\.0\.0\.0\/8/)
  })

  it('refuse a spool that cannot hold the largest file', () => {
    const { problems } = read({ NUNCIO_MEDIA_SPOOL_MB_PER_ACCOUNT: '50' })

    assert.deepEqual(
      problems.map(({ setting }) => setting),
      ['NUNCIO_MEDIA_SPOOL_MB_PER_ACCOUNT'],
    )
  })

  it.each([
    ['127.0.0.1', 'http://127.0.0.1:1'],
    ['0.0.0.0', 'http://127.0.0.1:1'],
    ['::', 'http://[::1]:1'],
    ['fd00::1', 'http://[fd00::1]:1'],
  ])('know that a service on %s is reached at %s', (host, url) => {
    assert.equal(localUrl({ host, tlsCertFile: null }, 1), url)
  })

  it('have defaults that keep their own rules', () => {
    for (const entry of Object.values(SETTINGS)) {
      if (entry.default !== '') assert.ok('value' in entry.kind.parse(entry.default), entry.name)
      else assert.ok(entry.whenUnset !== undefined, entry.name)
    }
  })
})
