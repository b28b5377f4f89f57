import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'

// Replaces npm: it installs a Vite that writes one page, or fails as `vite-does` says, and counts its runs.
const NPM = `
import fs from 'node:fs'
fs.mkdirSync('node_modules/vite/bin', { recursive: true })
fs.writeFileSync('node_modules/vite/bin/vite.js', \`
const fs = require('fs')
fs.appendFileSync('vite-runs', 'x')
if (fs.readFileSync('vite-does', 'utf8') === 'fail') { console.error('a line is wrong'); process.exit(1) }
const out = process.argv[process.argv.indexOf('--outDir') + 1]
fs.mkdirSync(out, { recursive: true })
fs.writeFileSync(out + '/index.html', fs.readFileSync('console/app/main.tsx'))
\`)
fs.writeFileSync('node_modules/package.json', '{"type":"commonjs"}')
fs.writeFileSync('node_modules/.package-lock.json', fs.readFileSync('package-lock.json'))
`

const SITE_BUILD = `
import fs from 'node:fs'
const out = process.argv[process.argv.indexOf('--out') + 1]
fs.mkdirSync(out, { recursive: true })
fs.writeFileSync(out + '/site.json', fs.readFileSync('docs/README.md'))
`

// Also contains what the builds before it have made.
const DIST_BUILD = `
import fs from 'node:fs'
const out = process.argv[process.argv.indexOf('--out') + 1]
fs.mkdirSync(out, { recursive: true })
fs.writeFileSync(out + '/package.json', fs.readFileSync('console/dist/index.html'))
fs.appendFileSync('dist-runs', 'x')
`

describe('bootstrap --console', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-bootstrap-'))
    cpSync(import.meta.dirname, join(folder, 'scripts'), { recursive: true })
    cpSync(join(import.meta.dirname, '../src/server/oldest-node.js'), join(folder, 'src/server/oldest-node.js'))
    write('package.json', JSON.stringify({ type: 'module', optionalDependencies: {} }))
    write('package-lock.json', JSON.stringify({ packages: { '': {} } }))
    write('npm-cli.js', NPM)
    write('vite-does', 'build')
    write('console/app/main.tsx', 'first')
    write('src/contract/console/routes.ts', '')
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('builds once, prints one timed line, and is silent from then on', async () => {
    const first = await start('--console')
    const second = await start('--console')

    assert.match(first.printed, /setup: building the console \.\.\. \d+\.\d s\n$/)
    assert.equal(built(), 'first')
    assert.deepEqual([second.exitCode, second.printed, timesBuilt()], [0, '', 1])
  })

  it.each(['console/app/main.tsx', 'src/contract/console/routes.ts', 'console/features/new.tsx'])(
    'builds again when %s has changed',
    async (file) => {
      await start('--console')
      write(file, 'second')

      await start('--console')

      assert.equal(timesBuilt(), 2)
    },
  )

  it('builds again when the result was removed', async () => {
    await start('--console')
    rmSync(join(folder, 'console/dist'), { recursive: true })

    await start('--console')

    assert.equal(built(), 'first')
  })

  it('stops with the words of the build when it fails, keeps what was there, and tries again at the next start', async () => {
    await start('--console')
    write('console/app/main.tsx', 'second')
    write('vite-does', 'fail')

    const { exitCode, printed } = await start('--console')

    assert.equal(exitCode, 1)
    assert.match(printed, /the console could not be built.*\n.*a line is wrong/)
    assert.equal(built(), 'first')
    write('vite-does', 'build')
    await start('--console')
    assert.equal(built(), 'second')
  })

  it('builds nothing for scripts that do not need it', async () => {
    await start()

    assert.equal(existsSync(join(folder, 'vite-runs')), false)
  })

  it('builds the documents too, and again when a page has changed', async () => {
    write('site/build/main.ts', SITE_BUILD)
    write('docs/README.md', 'first')
    await start('--console')
    const first = readFileSync(join(folder, 'site/dist/site.json'), 'utf8')
    const { printed } = await start('--console')
    write('docs/README.md', 'second')
    await start('--console')

    assert.deepEqual([first, printed], ['first', ''])
    assert.equal(readFileSync(join(folder, 'site/dist/site.json'), 'utf8'), 'second')
  })

  it('builds the service only with --build, after the pages, and again when a page or a source has changed', async () => {
    write('scripts/build-dist.ts', DIST_BUILD)
    const runs = () => readFileSync(join(folder, 'dist-runs'), 'utf8').length
    await start('--console')
    assert.equal(existsSync(join(folder, 'dist')), false)
    await start('--build')
    const { printed } = await start('--build')
    assert.deepEqual([printed, runs()], ['', 1])

    write('console/app/main.tsx', 'second')
    await start('--build')
    write('src/cli/main.ts', '')
    await start('--build')

    assert.equal(runs(), 3)
    assert.equal(readFileSync(join(folder, 'dist/package.json'), 'utf8'), 'second')
  })

  function write(file: string, text: string) {
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), text)
  }

  function built() {
    return readFileSync(join(folder, 'console/dist/index.html'), 'utf8')
  }

  function timesBuilt() {
    return readFileSync(join(folder, 'vite-runs'), 'utf8').length
  }

  function start(...args: readonly string[]): Promise<{ exitCode: number; printed: string }> {
    const env = { ...process.env, npm_execpath: join(folder, 'npm-cli.js'), npm_node_execpath: process.execPath }
    return new Promise((resolve) => {
      execFile(process.execPath, ['scripts/bootstrap.mjs', ...args], { cwd: folder, env }, (error, _, printed) =>
        resolve({ exitCode: typeof error?.code === 'number' ? error.code : 0, printed }),
      )
    })
  }
})
