import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../support/journey/start-nuncio.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/systemd')
const UNITS = readdirSync(FOLDER).filter((name) => /\.(service|timer)$/.test(name))
const hasAnalyze = spawnSync('systemd-analyze', ['--version']).status === 0
// systemd's exposure level in tenths: 100 is a service without any restriction.
const MOST_EXPOSED = 20
const SKIPPED = hasAnalyze ? '' : ' (skipped: systemd-analyze is not installed)'

/** The units, with a program and folders that exist. */
function copyUnits(): readonly string[] {
  const folder = temporaryFolder()
  return UNITS.map((name) => {
    const text = readFileSync(join(FOLDER, name), 'utf8')
    const path = join(folder, name)
    writeFileSync(
      path,
      text.replaceAll('/opt/nuncio/node_modules/.bin/node', process.execPath).replaceAll('/opt/nuncio', folder),
    )
    return path
  })
}

describe('the units of systemd', () => {
  it.skipIf(!hasAnalyze)(`are understood by systemd in every line${SKIPPED}`, () => {
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...copyUnits()], {
      encoding: 'utf8',
    })

    const about = stderr.split('\n').filter((line) => /nuncio/.test(line) && !/Failed to (?:connect|open)/.test(line))
    assert.deepEqual(about, [])
    assert.equal(status, 0, stderr)
  })

  it.skipIf(!hasAnalyze)(`expose little of the machine${SKIPPED}`, () => {
    for (const path of copyUnits().filter((unit) => unit.endsWith('.service'))) {
      const { status, stdout, stderr } = spawnSync(
        'systemd-analyze',
        ['security', '--offline=true', `--threshold=${MOST_EXPOSED}`, '--no-pager', path],
        { encoding: 'utf8' },
      )

      assert.equal(status, 0, `${stdout}${stderr}`)
    }
  })

  it('restart the service after any end, and give it time to stop', () => {
    const unit = readFileSync(join(FOLDER, 'nuncio.service'), 'utf8')

    assert.match(unit, /^Restart=always$/m)
    assert.match(unit, /^TimeoutStopSec=40$/m)
    assert.match(unit, /^ExecStart=.* dist\/src\/nuncio\.js serve$/m)
    // Node generates machine code at run time.
    assert.doesNotMatch(unit, /^MemoryDenyWriteExecute/m)
  })

  it('write no core dump, which would contain keys', () => {
    assert.match(readFileSync(join(FOLDER, 'nuncio.service'), 'utf8'), /^LimitCORE=0$/m)
  })
})
