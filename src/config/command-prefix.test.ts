import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it, onTestFinished } from 'vitest'
import { type HowStarted, prefixOf } from './command-prefix.ts'

// As npm 11 sets them for `npx nuncio serve` and for `npm run`.
const BY_NPX = { npm_command: 'exec', npm_lifecycle_event: 'npx', npm_lifecycle_script: "'nuncio'" }
const BY_A_SCRIPT = { npm_command: 'run', npm_lifecycle_event: 'start', npm_lifecycle_script: 'nuncio serve' }

describe('what stands before the words of a command', () => {
  let base = ''
  let clone = ''
  let installed = ''
  beforeAll(() => {
    base = mkdtempSync(join(tmpdir(), 'nuncio-prefix-'))
    clone = join(base, 'clone')
    installed = join(base, 'node_modules', 'nuncio')
    for (const folder of ['scripts', 'src', 'dist/src']) mkdirSync(join(clone, folder), { recursive: true })
    writeFileSync(join(clone, 'scripts/bootstrap.mjs'), '')
    mkdirSync(join(installed, 'src'), { recursive: true })
  })
  afterAll(() => rmSync(base, { recursive: true }))

  function started(how: Partial<HowStarted>): HowStarted {
    return { isExecutable: false, calledAs: 'node', environment: {}, folder: installed, ...how }
  }

  it('is `nuncio` in a package, an image or a Debian package', () => {
    assert.equal(prefixOf(started({})), 'nuncio')
  })

  it('is `npx nuncio` when npx runs what is installed', () => {
    assert.equal(prefixOf(started({ environment: BY_NPX })), 'npx nuncio')
  })

  // As npm 11 notes it. By the name alone npx would fetch what stands under that name on npm.
  it.each([
    ['nuncio@0.1.0', 'npx nuncio@0.1.0'],
    ['./nuncio-0.1.0.tgz', 'npx ./nuncio-0.1.0.tgz'],
    ['../my files/nuncio-0.1.0.tgz', "npx '../my files/nuncio-0.1.0.tgz'"],
  ])('is npx with what it was given: %s', (given, expected) => {
    const noted = join(base, 'package.json')
    writeFileSync(noted, JSON.stringify({ dependencies: {}, _npx: { packages: ['cowsay', given] } }))
    onTestFinished(() => rmSync(noted))

    assert.equal(prefixOf(started({ environment: BY_NPX })), expected)
  })

  it.each([
    ['a script of npm', BY_A_SCRIPT],
    ['another program, which npx runs', { ...BY_NPX, npm_lifecycle_script: "'pm2'" }],
    ['another program with a similar name', { ...BY_NPX, npm_lifecycle_script: "'nuncio-tools'" }],
  ])('is `nuncio` when %s runs it', (_, environment) => {
    assert.equal(prefixOf(started({ environment })), 'nuncio')
  })

  it.each([
    ['nuncio', 'nuncio'],
    ['./nuncio', './nuncio'],
    ['/opt/my tools/nuncio', "'/opt/my tools/nuncio'"],
  ])('is the executable as it was called: %s', (calledAs, expected) => {
    assert.equal(prefixOf(started({ isExecutable: true, calledAs })), expected)
  })

  it('is the executable also where it was built', () => {
    assert.equal(prefixOf(started({ isExecutable: true, calledAs: './nuncio', folder: clone })), './nuncio')
  })

  it.each(['.', 'dist'])('is the script of npm in a clone, where the code lies in %s', (folder) => {
    assert.equal(prefixOf(started({ folder: join(clone, folder) })), 'npm run -s nuncio --')
  })

  // Such as `npx vitest`.
  it('is the script of npm in a clone also when npx started it', () => {
    assert.equal(prefixOf(started({ folder: clone, environment: BY_NPX })), 'npm run -s nuncio --')
  })
})
