import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, it } from 'vitest'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

describe('the command line on a Node', () => {
  it.each(['20.20.2', '24.15.0'])('that is too old, as %s, says so in one sentence and does nothing', (version) => {
    const { status, stdout, stderr } = startOn(version)

    assert.deepEqual([status, stdout], [1, ''])
    assert.match(
      stderr,
      new RegExp(`^nuncio: This is Node ${version}, and Nuncio needs Node 24\\.16 or newer\\. .*\\.\\n$`),
    )
  })

  it.each(['24.16.0', '26.0.0'])('that is new enough, as %s, runs', (version) => {
    const { status, stderr } = startOn(version)

    assert.deepEqual([status, stderr], [0, ''])
  })
})

describe('a command', () => {
  it.each([
    { args: ['--version'], packages: ['commander'] },
    { args: ['token', 'list'], packages: ['commander', 'kysely'] },
  ])('loads only the packages that it needs: $args', ({ args, packages }) => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-loads-'))

    const { stderr } = start(PRINT_LOADED, args, { NUNCIO_DATA_DIR: folder })

    rmSync(folder, { recursive: true })
    assert.deepEqual(JSON.parse(stderr.trimEnd().split('\n').at(-1) ?? ''), packages)
  })
})

const PRINT_LOADED = `
  import { registerHooks } from 'node:module'
  const loaded = new Set()
  registerHooks({ load(url, context, next) {
    const name = /.*\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1]
    if (name) loaded.add(name)
    return next(url, context)
  } })
  process.on('exit', () => process.stderr.write(JSON.stringify([...loaded].sort()) + '\\n'))`

function startOn(version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  return start(pretend, ['--version'])
}

/** `first` is run before anything of ours. */
function start(first: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const asked = ['--import', `data:text/javascript,${encodeURIComponent(first)}`, MAIN, ...args]
  return spawnSync(process.execPath, asked, { encoding: 'utf8', env: { ...process.env, ...env } })
}
