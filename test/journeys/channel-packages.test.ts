import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, it, onTestFinished } from 'vitest'
import { nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { LIBRARY_FOLDER, whyNoLibrary } from '../support/whatsapp-web/library.ts'

// If the set-up of the tests could not install it, a command cannot either.
const REASON = whyNoLibrary()

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'nuncio-packages-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
})

describe.skipIf(REASON)(`the packages of a channel${skipNote(REASON)}`, () => {
  it('are installed by the built program into the data folder, with npm', () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [nuncioMain, 'channel', 'install', 'whatsapp-web', '--yes'],
      { cwd: dataDir, env: { ...process.env, NUNCIO_DATA_DIR: dataDir }, encoding: 'utf8' },
    )

    assert.deepEqual([status, stdout], [0, 'Installed the packages of whatsapp-web.\n'], stderr)
    assert.match(stderr, /GPL-3\.0/)
    assert.deepEqual(readdirSync(join(dataDir, 'extras')), ['whatsapp-web'])
  })

  it('are not installed without a network: there is one sentence, and nothing is left behind', () => {
    const env = {
      ...process.env,
      NUNCIO_DATA_DIR: dataDir,
      npm_config_registry: 'http://127.0.0.1:9/',
      npm_config_cache: join(dataDir, 'cache'),
    }

    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [nuncioMain, 'channel', 'install', 'whatsapp-web', '--yes'],
      { cwd: dataDir, env, encoding: 'utf8' },
    )

    assert.deepEqual([status, stdout], [1, ''])
    assert.match(
      stderr,
      /\n\nnuncio: The npm registry cannot be reached\. [^\n]+ use --offline\. \(program_failed\)\n$/,
    )
    assert.deepEqual(readdirSync(join(dataDir, 'extras')), [])
  })

  it('are copied without npm from a folder in which they were installed', async () => {
    const cli = new CliOn(dataDir)
    const installed = await cli.run('channel', 'install', 'whatsapp-web', '--offline', LIBRARY_FOLDER, '--yes')
    const listed = await cli.run('channel', 'list')
    const removed = await cli.run('channel', 'remove', 'whatsapp-web')

    assert.equal(installed.code, 0, installed.stderr)
    assert.match(listed.stdout, /^whatsapp-web +WhatsApp Web +installed$/m)
    assert.deepEqual(
      [removed.stdout, readdirSync(join(dataDir, 'extras'))],
      ['Removed the packages of whatsapp-web.\n', []],
    )
  })
})
