import assert from 'node:assert/strict'
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { ROOT } from '../../scripts/source-tree.ts'
import { NuncioCli } from '../support/black-box/nuncio-cli.ts'
import { whyNoOwnMounts } from '../support/black-box/own-mounts.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { proveProgram, proveSeveralProcesses } from '../support/deploy/prove-program.ts'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'

const LARGEST_BYTES = 145e6
const noMounts = whyNoOwnMounts()
const mounts = it.skipIf(noMounts !== null)

let folder: string
let executable: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-executable-'))
  const built = join(folder, 'built')
  execFileSync(process.execPath, [join(ROOT, 'scripts/build-executable.ts'), '--out', built], { stdio: 'ignore' })
  const [name = ''] = globSync('nuncio-*', { cwd: built })
  mkdirSync(join(folder, 'bin'))
  executable = join(folder, 'bin/nuncio')
  renameSync(join(built, name), executable)
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Its environment: no Node, and its own home. */
function surroundings(cache = join(folder, 'cache')): Readonly<Record<string, string>> {
  return { PATH: join(folder, 'bin'), HOME: folder, XDG_CACHE_HOME: cache }
}

/** The command that starts the executable in this environment. */
function program(): readonly string[] {
  return ['/usr/bin/env', ...Object.entries(surroundings()).map(([name, value]) => `${name}=${value}`), executable]
}

function run(cache: string, ...args: readonly string[]) {
  return spawnSync(executable, args, { encoding: 'utf8', env: surroundings(cache) })
}

/** Runs it with this folder on its own file system, mounted with these options. */
function runOnMount(mountOptions: string, cache: string) {
  const script = `mount -t tmpfs -o ${mountOptions} none '${cache}' && exec '${executable}' --version`
  const env = { ...surroundings(cache), PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
  return spawnSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8', env })
}

describe('the executable', () => {
  it('is one file of at most 145 MB', () => {
    assert.ok(statSync(executable).size <= LARGEST_BYTES, `${statSync(executable).size} bytes`)
  })

  it('does everything that the program does without Node, and keeps its data over a new installation', async () => {
    await proveProgram(program(), async () => {
      copyFileSync(executable, `${executable}.new`)
      renameSync(`${executable}.new`, executable)
    })
  })

  it('serves from several processes', async () => {
    await proveSeveralProcesses(program())
  })

  it('kills and starts itself for the kill test of doctor', async () => {
    const cli = new NuncioCli({ program: program(), dataDir: temporaryFolder(), workDir: temporaryFolder() })

    const { code, stdout } = await cli.run('doctor', '--offline', '--kill-test', '--rounds', '2')

    assert.equal(code, 0, stdout)
    assert.match(stdout, /ok +kill test +Killed \d+ times/)
  })

  it('names the source lines of a fault', () => {
    const broken = join(temporaryFolder(), 'broken.cjs')
    writeFileSync(broken, 'Date.now = () => { throw new Error("no clock") }')

    const { stderr } = spawnSync(executable, ['token', 'create', '--name', 'a', '--expires', '7d'], {
      encoding: 'utf8',
      env: {
        ...surroundings(),
        NUNCIO_DATA_DIR: temporaryFolder(),
        NUNCIO_LOG_LEVEL: 'debug',
        NODE_OPTIONS: `--require ${broken}`,
      },
    })

    const [, line] = /at now \(src\/cli\/environment\.ts:(\d+):\d+\)/.exec(stderr) ?? []
    const source = readFileSync(join(ROOT, 'src/cli/environment.ts'), 'utf8').split('\n')
    assert.match(source[Number(line) - 1] ?? stderr, /now: \(\) => Date\.now\(\)/)
  })

  it('starts its children from its own version, even if a newer executable has replaced it', () => {
    const cache = temporaryFolder()
    const older = join(cache, 'nuncio/0.0.1-older')
    mkdirSync(join(older, 'src'), { recursive: true, mode: 0o700 })
    writeFileSync(join(older, 'package.json'), '{"type":"module"}')
    const entry = join(older, 'src/nuncio.js')
    writeFileSync(entry, 'console.log(JSON.stringify(process.argv.slice(1)))')

    const { stdout, stderr } = run(cache, entry, 'serve')

    assert.equal(stdout, `${JSON.stringify([entry, 'serve'])}\n`, stderr)
    assert.deepEqual(readdirSync(join(cache, 'nuncio')), ['0.0.1-older'])
  })

  it('unpacks itself once, however many start at the same time', async () => {
    const cache = temporaryFolder()

    const started = Array.from({ length: 4 }, () =>
      promisify(execFile)(executable, ['--version'], { env: surroundings(cache) }),
    )

    for (const { stdout, stderr } of await Promise.all(started)) assert.match(stdout, /^\d+\.\d+\.\d+\n$/, stderr)
    assert.equal(readdirSync(join(cache, 'nuncio')).length, 1)
  })

  it('refuses to unpack into a folder that other users may write to', () => {
    const cache = temporaryFolder()
    run(cache, '--version')
    chmodSync(join(cache, 'nuncio'), 0o777)

    const { status, stdout, stderr } = run(cache, '--version')

    assert.equal(status, 1)
    assert.equal(stdout, '')
    assert.match(
      stderr,
      /^nuncio: Other users may write to .*, and could exchange the program there\. Run `chmod go-w .*\.\n$/,
    )
  })

  mounts(`says what to do when the disk to unpack into is full${skipNote(noMounts)}`, () => {
    const { status, stderr } = runOnMount('size=4m,mode=700', temporaryFolder())

    assert.equal(status, 1)
    assert.match(
      stderr,
      /^nuncio: The program unpacks itself into .*, and cannot write there \(ENOSPC\)\. Free .*\.\n$/,
    )
  })

  mounts(`says what to do when the folder to unpack into is read-only${skipNote(noMounts)}`, () => {
    const { status, stderr } = runOnMount('ro,mode=700', temporaryFolder())

    assert.equal(status, 1)
    assert.match(
      stderr,
      /^nuncio: The program unpacks itself into .*, and cannot write there \(E\w+\)\. Make it writable .*\.\n$/,
    )
  })

  mounts(`runs from a folder where programs may not be started${skipNote(noMounts)}`, () => {
    const { stdout, stderr } = runOnMount('noexec,mode=700', temporaryFolder())

    assert.match(stdout, /^\d+\.\d+\.\d+\n$/, stderr)
  })
})
