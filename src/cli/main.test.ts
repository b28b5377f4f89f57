import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
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

function startOn(version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const asked = ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`, MAIN, '--version']
  return spawnSync(process.execPath, asked, { encoding: 'utf8' })
}
