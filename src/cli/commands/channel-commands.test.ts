import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { beforeEach, describe, it, onTestFinished } from 'vitest'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { CHANNELS } from '../../channels/registry.ts'

let world: CliWorld
let npmRuns: number

beforeEach(() => {
  const dataDir = mkdtempSync(`${tmpdir()}/nuncio-channel-`)
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
  npmRuns = 0
  world = new CliWorld()
  world.environment = { NUNCIO_DATA_DIR: dataDir }
  // Nothing is installed by it, so that an installation which gets that far is refused.
  world.runNpm = async () => {
    npmRuns += 1
  }
})

describe('nuncio channel', () => {
  it('lists the channels that are built in and those that are installed by command', async () => {
    const builtIn = CHANNELS.map(({ name, label }) => ({ channel: name, label, state: 'built-in' }))

    assert.deepEqual(await world.json('channel', 'list'), [
      ...builtIn,
      { channel: 'whatsapp-web', label: 'WhatsApp Web', state: 'not-installed' },
    ])
    assert.match((await world.cli('channel', 'list')).stdout, /^whatsapp-web +WhatsApp Web +not installed$/m)
  })

  it('shows the licences, and installs only what a person says yes to', async () => {
    const unasked = await world.cli('channel', 'install', 'whatsapp-web')
    world.typed = { them: 'no' }
    const declined = await world.cli('channel', 'install', 'whatsapp-web')
    world.typed = { them: 'yes' }
    await world.cli('channel', 'install', 'whatsapp-web')

    assert.match(unasked.stderr, /^ {2}libsignal 6\.0\.0 +GPL-3\.0$/m)
    assert.match(unasked.stderr, /nuncio: Say --yes to install them without being asked\. \(argument_invalid\)\n$/)
    assert.match(declined.stderr, /That was not yes, so nothing was installed\./)
    assert.equal(npmRuns, 1)
  })

  it.each([
    ['one that is built in', 'sandbox', 'The channel sandbox is part of Nuncio, so nothing has to be installed.'],
    ['one that is not known', 'telex', 'There is no channel “telex”. See them all: nuncio channel list'],
  ])('refuses to install or remove %s', async (_, channel, sentence) => {
    const installed = await world.cli('channel', 'install', channel, '--yes')
    const removed = await world.cli('channel', 'remove', channel)

    assert.ok(installed.stderr.includes(sentence), installed.stderr)
    assert.ok(removed.stderr.includes(sentence), removed.stderr)
    assert.equal(npmRuns, 0)
  })

  it('says when there was nothing to remove', async () => {
    assert.deepEqual(await world.cli('channel', 'remove', 'whatsapp-web'), {
      code: 0,
      stdout: 'The packages of whatsapp-web were not installed.\n',
      stderr: '',
    })
  })
})
