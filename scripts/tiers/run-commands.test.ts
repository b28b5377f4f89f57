import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'

describe('running several commands', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-commands-'))
    cpSync(import.meta.dirname, join(folder, 'scripts/tiers'), { recursive: true })
    mkdirSync(join(folder, 'node_modules/.setup/tests'), { recursive: true })
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('ends with one summary over all of them', () => {
    const { status, lines } = run({ test: leave('test', 2), check: 'exit 0', 'test:e2e': leave('e2e', 5) })

    assert.equal(status, 0)
    assert.match(
      lines.join('\n'),
      /npm run test: passed after 0 min \d+ s\nnpm run check: passed .*\nnpm run test:e2e: passed/,
    )
    assert.equal(lines.at(-1), '7 passed, 0 failed')
  })

  it('continues after a failure, and counts a command that failed without a failed test', () => {
    const { status, lines } = run({ test: 'exit 3', check: 'exit 1', 'test:e2e': `touch ran; ${leave('e2e', 5)}` })

    assert.equal(status, 1)
    assert.ok(existsSync(join(folder, 'ran')))
    assert.ok(lines.includes('FAILED npm run > test: it ended with 3 and no failed test; its last output says why'))
    assert.equal(lines.at(-1), '5 passed, 2 failed')
  })

  it('does not count the report of an earlier run', () => {
    writeFileSync(join(folder, 'node_modules/.setup/tests/test.json'), report('test', 7))

    const { status, lines } = run({ test: 'exit 1' })

    assert.deepEqual([status, lines.at(-1)], [1, '0 passed, 1 failed'])
  })

  it('counts skipped tests as failed if none may be skipped', () => {
    const scripts = { test: leave('test', 2, ['a power cut (mkfs.xfs is missing)']) }

    const lenient = run(scripts)
    const strict = run(scripts, ['--no-skips', 'test'])

    assert.deepEqual([lenient.status, lenient.lines.at(-1)], [0, '2 passed, 0 failed, 1 skipped'])
    assert.deepEqual([strict.status, strict.lines.at(-1)], [1, '2 passed, 1 failed'])
    assert.ok(
      strict.lines.some((line) => line.startsWith('FAILED a.test.ts > a power cut (mkfs.xfs is missing): it was')),
    )
  })

  function run(scripts: Readonly<Record<string, string>>, commands = Object.keys(scripts)) {
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts }))
    const { status, stdout } = spawnSync(process.execPath, ['scripts/tiers/run-commands.mjs', ...commands], {
      cwd: folder,
      encoding: 'utf8',
    })
    return { status, lines: stdout.trimEnd().split('\n') }
  }
})

/** A command that writes a report as a tier does. */
function leave(tier: string, passed: number, skipped: readonly string[] = []): string {
  return `echo '${report(tier, passed, skipped)}' > node_modules/.setup/tests/${tier}.json`
}

function report(tier: string, passed: number, skipped: readonly string[] = []): string {
  return JSON.stringify({
    ...{ tier, durationMs: 0, failures: [] },
    files: [{ file: 'a.test.ts', durationMs: 0, passed, skipped }],
  })
}
