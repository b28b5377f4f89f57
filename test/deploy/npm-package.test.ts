import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import packageFile from '../../package.json' with { type: 'json' }
import { ROOT } from '../../scripts/source-tree.ts'
import { npm } from '../support/deploy/npm.ts'
import { proveProgram, proveSeveralProcesses } from '../support/deploy/prove-program.ts'

const MOST_BYTES = 7_000_000

let folder = ''
let tarball = ''
let program: readonly string[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-npm-'))
  npm(folder, 'pack', join(ROOT, 'dist'))
  tarball = join(folder, `nuncio-${packageFile.version}.tgz`)
  install()
  // Starts it as a shell does, with the Node that runs the tests.
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  program = ['env', `PATH=${path}`, join(folder, 'prefix/bin/nuncio')]
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Installs from the file alone, as without a registry. */
function install(): void {
  npm(folder, 'install', '--global', '--prefix', join(folder, 'prefix'), '--offline', tarball)
}

/** Runs a command of the installed program with these settings, and returns its output. */
function run(environment: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const [command = '', ...given] = program
  const env = { NUNCIO_DATA_DIR: join(folder, 'data'), ...environment }
  return spawnSync(command, [...given, ...args], { cwd: folder, env, encoding: 'utf8' })
}

describe('the package for npm', () => {
  it('is small, has no dependencies, and runs no scripts when it is installed', () => {
    const installed = join(folder, 'prefix/lib/node_modules/nuncio/package.json')
    const { name, version, bin, ...rest } = JSON.parse(readFileSync(installed, 'utf8')) as Record<string, unknown>

    assert.deepEqual([name, version, bin], ['nuncio', packageFile.version, { nuncio: 'src/nuncio.js' }])
    assert.deepEqual(Object.keys(rest).toSorted(), ['description', 'engines', 'license', 'type'])
    const { size } = statSync(tarball)
    assert.ok(size <= MOST_BYTES, `it has ${size} bytes`)
  })

  it('has a README whose links lead to documents that it serves', () => {
    const home = join(folder, 'prefix/lib/node_modules/nuncio')
    const readme = readFileSync(join(home, 'README.md'), 'utf8')
    const links = [...readme.matchAll(/\]\(([^)]+)\)|<([a-z]+:[^>]+)>/g)].map(
      ([, link, address]) => link ?? address ?? '',
    )
    const pages = links.map((link) => join(home, 'site/dist', `${link.split('8080/docs/')[1] || 'home'}.html`))

    assert.ok(pages.length > 3)
    assert.deepEqual(
      pages.filter((page) => !existsSync(page)),
      [],
    )
  })

  it('serves, delivers, backs up, restores, and keeps its data over an upgrade', async () => {
    await proveProgram(program, async () => install())
  })

  it('serves with several processes on PostgreSQL', async () => {
    await proveSeveralProcesses(program)
  })

  it('says in one sentence that the folder cannot be written to', () => {
    const { status, stderr } = run({ NUNCIO_DATA_DIR: join(tarball, 'data') }, 'serve')

    assert.notEqual(status, 0)
    assert.match(stderr, /^nuncio: .*nuncio-.*\.tgz.*\n$/)
  })

  it('says in one sentence that another program listens on the port', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { readonly port: number }

    const { status, stderr } = run({ NUNCIO_PORT: String(port) }, 'serve')

    other.close()
    assert.notEqual(status, 0)
    assert.match(stderr, new RegExp(`^nuncio: .*127\\.0\\.0\\.1:${port} already\\. .*\\n$`))
  })

  it('says in one sentence that this Node is too old', () => {
    const pretend = `Object.defineProperty(process,'versions',{value:{...process.versions,node:'22.1.0'}})`

    const { status, stderr } = run(
      { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(pretend)}` },
      'serve',
    )

    assert.deepEqual(
      [status, stderr],
      [1, 'nuncio: This is Node 22.1.0, and Nuncio needs Node 24.16 or newer. Install a newer one.\n'],
    )
  })
})
