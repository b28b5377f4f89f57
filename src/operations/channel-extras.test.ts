import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, it, onTestFinished } from 'vitest'
import lock from '../../extras/whatsapp-web/package-lock.json' with { type: 'json' }
import { createChannelExtras } from './channel-extras.ts'

const CHANNEL = 'whatsapp-web'
// They ask for no more than to be named.
const PERMISSIVE = ['MIT', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', '0BSD', 'BlueOak-1.0.0']

interface Locked {
  readonly version?: string
  readonly license?: string
  readonly peer?: boolean
  readonly resolved?: string
  readonly hasInstallScript?: boolean
}

const PACKAGES = Object.entries(lock.packages as Readonly<Record<string, Locked>>)

let dataDir: string

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'nuncio-extras-'))
  onTestFinished(() => rmSync(dataDir, { recursive: true }))
})

describe('the packages of WhatsApp Web', () => {
  it('are named with their versions where their licences ask for more than that', () => {
    const { licences } = createChannelExtras().find(CHANNEL)
    const found = PACKAGES.flatMap(([path, { version, license, peer }]) =>
      path.includes('node_modules/') && !peer && !PERMISSIVE.includes(license ?? '') && version !== undefined
        ? [[license, version]]
        : [],
    )

    for (const [license, version] of found)
      assert.ok(
        licences.some((named) => named.licence.includes(license ?? '?') && named.version === version),
        `${license} ${version}`,
      )
    for (const { name, version } of licences)
      assert.ok(
        PACKAGES.some(([path, locked]) => path.includes(name) && locked.version === version),
        name,
      )
  })

  it('name no registry', () => {
    const named = PACKAGES.filter(([, { resolved }]) => resolved !== undefined && resolved !== 'signal')

    assert.deepEqual(named, [])
  })
})

describe('installing the packages of a channel', () => {
  it('puts them into the data folder when npm has installed all of them', async () => {
    const extras = createChannelExtras({ runNpm: fakeNpm() })
    const before = await stateIn(dataDir)

    const isNew = await extras.install({ dataDir, channel: CHANNEL, offline: null })
    const again = await extras.install({ dataDir, channel: CHANNEL, offline: null })

    assert.deepEqual([before, isNew, again, await stateIn(dataDir)], ['not-installed', true, false, 'installed'])
    assert.deepEqual(readdirSync(join(dataDir, 'extras')), [CHANNEL])
    assert.ok(existsSync(join(dataDir, 'extras', CHANNEL, 'signal/src/curve.js')))
  })

  it('leaves nothing behind when npm fails', async () => {
    const extras = createChannelExtras({
      runNpm: async () => {
        throw new Error('npm failed')
      },
    })

    await assert.rejects(extras.install({ dataDir, channel: CHANNEL, offline: null }), /npm failed/)

    assert.deepEqual(readdirSync(join(dataDir, 'extras')), [])
  })

  it('is refused when npm has left a package out, as it does on a full disk', async () => {
    const extras = createChannelExtras({ runNpm: fakeNpm({ without: 'node_modules/protobufjs' }) })

    await assert.rejects(extras.install({ dataDir, channel: CHANNEL, offline: null }), {
      code: 'program_failed',
      message: /^npm left out protobufjs of the channel whatsapp-web\./,
    })

    assert.equal(await stateIn(dataDir), 'not-installed')
  })

  it('replaces those of another version', async () => {
    const extras = createChannelExtras({ runNpm: fakeNpm() })
    await extras.install({ dataDir, channel: CHANNEL, offline: null })
    writeFileSync(join(dataDir, 'extras', CHANNEL, 'package-lock.json'), '{}')
    const before = await stateIn(dataDir)

    const isNew = await extras.install({ dataDir, channel: CHANNEL, offline: null })

    assert.deepEqual([before, isNew, await stateIn(dataDir)], ['outdated', true, 'installed'])
  })

  it('removes what a killed installation has left, once no installation can take that long', async () => {
    const extras = createChannelExtras({ runNpm: fakeNpm() })
    const [killed, running] = ['.whatsapp-web-killed', '.whatsapp-web-running'].map((name) =>
      join(dataDir, 'extras', name),
    )
    for (const folder of [killed, running]) mkdirSync(folder ?? '', { recursive: true })
    utimesSync(killed ?? '', 1, 1)

    await extras.install({ dataDir, channel: CHANNEL, offline: null })

    assert.deepEqual(readdirSync(join(dataDir, 'extras')).toSorted(), ['.whatsapp-web-running', CHANNEL])
  })

  it('copies them from a folder of another machine, without npm', async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), 'nuncio-extras-'))
    onTestFinished(() => rmSync(elsewhere, { recursive: true }))
    await createChannelExtras({ runNpm: fakeNpm() }).install({ dataDir: elsewhere, channel: CHANNEL, offline: null })
    const offline = join(elsewhere, 'extras', CHANNEL)

    const isNew = await createChannelExtras({ runNpm: noNpm }).install({ dataDir, channel: CHANNEL, offline })

    assert.deepEqual([isNew, await stateIn(dataDir)], [true, 'installed'])
  })

  it('refuses a folder without them, and one of another version', async () => {
    const offline = join(dataDir, 'copied')
    mkdirSync(join(offline, 'node_modules'), { recursive: true })
    const request = { dataDir, channel: CHANNEL, offline }
    await assert.rejects(createChannelExtras({ runNpm: noNpm }).install(request), {
      code: 'file_unusable',
      message: /the packages of whatsapp-web are not installed\. On a machine that has npm: nuncio channel install/,
    })
    for (const name of ['package-lock.json', 'node_modules/.package-lock.json'])
      writeFileSync(join(offline, name), '{}')

    await assert.rejects(createChannelExtras({ runNpm: noNpm }).install(request), {
      code: 'file_unusable',
      message: /are of another version than this Nuncio needs/,
    })
  })
})

describe('packages that are part of an image', () => {
  it('are installed already, whatever the data folder holds, and cannot be removed', async () => {
    const programExtras = join(dataDir, 'program')
    await fakeInstallation(join(programExtras, CHANNEL))
    const extras = createChannelExtras({ runNpm: noNpm, programExtras })

    const isNew = await extras.install({ dataDir, channel: CHANNEL, offline: null })

    assert.equal(isNew, false)
    assert.equal((await extras.list(dataDir)).find(({ channel }) => channel === CHANNEL)?.state, 'installed')
    await assert.rejects(extras.remove(dataDir, CHANNEL), {
      message: 'The packages of whatsapp-web are part of this image. Use an image that was built without them.',
    })
    assert.equal(existsSync(join(dataDir, 'extras')), false)
  })
})

describe('npm', () => {
  it('is asked for where it is missing, and nothing keeps the command alive', () => {
    const source = new URL('install-with-npm.ts', import.meta.url).href
    const script = `const { installWithNpm } = await import('${source}')
      await installWithNpm('.').catch((error) => console.error(error.message))`

    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      env: { PATH: '/nowhere' },
      encoding: 'utf8',
      timeout: 60_000,
    })

    assert.deepEqual([signal, /npm was not found\. Install it/.test(stderr)], [null, true])
  })
})

async function stateIn(folder: string) {
  const rows = await createChannelExtras().list(folder)
  return rows.find(({ channel }) => channel === CHANNEL)?.state
}

async function noNpm(): Promise<void> {
  throw new Error('npm was run')
}

/** Makes what npm makes, as far as it is checked. */
function fakeInstallation(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock))
  return fakeNpm()(folder)
}

function fakeNpm({ without = '' } = {}) {
  return async (folder: string) => {
    const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as typeof lock
    for (const [path, { version, peer }] of Object.entries(wanted.packages as Readonly<Record<string, Locked>>)) {
      if (path === '' || path === 'signal' || path === without || peer) continue
      const file = join(folder, path, 'package.json')
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, JSON.stringify({ version }))
    }
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{}')
  }
}
