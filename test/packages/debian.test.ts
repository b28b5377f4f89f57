import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, it } from 'vitest'
import packageFile from '../../package.json' with { type: 'json' }
import { ROOT } from '../../scripts/source-tree.ts'
import { findFreePort } from '../support/black-box/free-port.ts'
import { NuncioCli } from '../support/black-box/nuncio-cli.ts'
import { NuncioProcess } from '../support/black-box/nuncio-process.ts'
import { whyNoOwnMounts } from '../support/black-box/own-mounts.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { type Installed, proveService, proveTwoProcesses } from '../support/deploy/prove-program.ts'
import { DebianSystem } from '../support/packages/debian-system.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

const OBSTACLE =
  process.arch === 'x64' ? whyNoOwnMounts(['mmdebstrap', 'dpkg-deb']) : 'the package is for machines with amd64 alone'
const hasLintian = existsSync('/usr/bin/lintian')
const SETTINGS = '/etc/nuncio/nuncio.env'
const DATA = '/var/lib/nuncio'
const UNIT = '/usr/lib/systemd/system/nuncio.service'
const AS_USER = ['setpriv', '--reuid=nuncio', '--regid=nuncio', '--init-groups', '--']

describe.skipIf(OBSTACLE !== null)(`the package for Debian${skipNote(OBSTACLE)}`, () => {
  let folder = ''
  let first = ''
  let second = ''
  let debian: DebianSystem
  let port = 0

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-deb-test-'))
    first = build(folder, '1')
    second = build(folder, '2')
    debian = new DebianSystem()
    port = await findFreePort()
  })

  afterAll(() => {
    debian?.remove()
    rmSync(folder, { recursive: true, force: true })
  })

  /** The service as its unit starts it, and the command line as root uses it. */
  function installed(): Installed {
    const [, start = ''] = /^ExecStart=(.*) serve$/m.exec(debian.read(UNIT)) ?? []
    const place = { dataDir: '', workDir: folder }
    return {
      service: new NuncioProcess({ ...place, port, program: debian.enter(...AS_USER, start) }),
      cli: new NuncioCli({ ...place, program: debian.enter('nuncio') }),
    }
  }

  async function whileServing(prove: (installed: Installed) => Promise<void>): Promise<void> {
    const { service, cli } = installed()
    try {
      await service.start()
      await prove({ service, cli })
    } finally {
      await service.stop()
    }
  }

  it('is the same, byte for byte, if it is made again from the same build', () => {
    const again = mkdtempSync(join(folder, 'again-'))

    assert.ok(readFileSync(first).equals(readFileSync(build(again, '1'))))
  })

  it.skipIf(!hasLintian)(
    `follows the rules of Debian${hasLintian ? '' : ' (skipped: lintian is not installed)'}`,
    () => {
      const { stdout } = spawnSync('lintian', ['--allow-root', '--tag-display-limit', '0', first], { encoding: 'utf8' })

      const found = stdout.trim().split('\n')
      // The makers of Node build it this way.
      assert.deepEqual(found, ['W: nuncio: hardening-no-pie [usr/lib/nuncio/bin/node]'])
    },
  )

  it('can be installed without a running systemd, with settings and data that other users cannot read', () => {
    debian.install(first)

    const modes = debian.mustRun('stat', '--format=%U:%G %a %n', SETTINGS, DATA, '/var/backups/nuncio')
    assert.deepEqual(modes.trim().split('\n'), [
      `root:nuncio 640 ${SETTINGS}`,
      `nuncio:nuncio 700 ${DATA}`,
      'nuncio:nuncio 700 /var/backups/nuncio',
    ])
    assert.equal(debian.mustRun('nuncio', '--version').trim(), packageFile.version)
    assert.equal(debian.run('sh', '-c', 'command -v node npm').stdout, '')
    // A minimal Debian does not install manual pages.
    const manual = spawnSync('sh', [
      '-c',
      `dpkg-deb --fsys-tarfile ${first} | tar -xO ./usr/share/man/man1/nuncio.1.gz | zcat`,
    ])
    assert.match(String(manual.stdout), /^\.SS "nuncio token create"$/m)
  })

  it('has units that systemd understands in every line', () => {
    const unit = debian.read(UNIT)
    const path = join(folder, 'nuncio.service')
    writeFileSync(path, unit.replace('/usr/bin/nuncio', process.execPath).replace('nuncio(1)', 'sh(1)'))

    assert.match(unit, /^User=nuncio$/m)
    assert.match(unit, /^ProtectSystem=strict$/m)
    assert.doesNotMatch(unit + debian.read(UNIT.replace('.service', '-backup.service')), /\/opt\/|^Environment/m)
    const { stderr, error } = spawnSync('systemd-analyze', ['verify', '--man=no', path], { encoding: 'utf8' })
    if (error === undefined) assert.doesNotMatch(stderr, /nuncio\.service/)
  })

  it('says in one sentence what to do to users who may not use the data', () => {
    debian.mustRun('useradd', 'jane')
    const asJane = ['setpriv', '--reuid=jane', '--regid=jane', '--clear-groups', '--', 'nuncio']

    assert.deepEqual(debian.run(...asJane, 'token', 'list'), {
      status: 1,
      stdout: '',
      stderr:
        'nuncio: Only root and the user nuncio may use the data of the service. Write sudo before the command: sudo nuncio …\n',
    })
    assert.match(debian.mustRun(...asJane, 'token', 'list', '--help'), /^Usage: nuncio token list/)
  })

  it('says in one sentence that settings cannot be read or understood', () => {
    debian.mustRun('chmod', '600', SETTINGS)
    const closed = debian.run('nuncio', 'token', 'list')
    debian.mustRun('chmod', '640', SETTINGS)
    const before = debian.read(SETTINGS)
    debian.append(SETTINGS, 'NUNCIO_PORT 9000\n')
    const wrong = debian.run('nuncio', 'token', 'list')
    writeFileSync(join(debian.root, SETTINGS), before)

    const repair = `chgrp nuncio ${SETTINGS} && chmod 640 ${SETTINGS}`
    assert.deepEqual(
      [closed.status, closed.stderr],
      [1, `nuncio: The user nuncio cannot read ${SETTINGS}. Run: ${repair}\n`],
    )
    const line = before.split('\n').length
    assert.deepEqual(
      [wrong.status, wrong.stderr],
      [1, `nuncio: Line ${line} of the file ${SETTINGS} is no setting: write NAME=value, or # before a comment.\n`],
    )
  })

  it('serves, delivers, backs up, restores, and keeps data and settings over an upgrade', async () => {
    debian.append(SETTINGS, `NUNCIO_PORT=${port}\nNUNCIO_LOG_LEVEL="warn" # not all\n`)

    await whileServing((running) =>
      proveService(running, {
        backups: '/var/backups/nuncio',
        upgrade: async () => void debian.install(second),
      }),
    )

    assert.match(debian.mustRun('dpkg-query', '--show', 'nuncio'), /-2$/m)
    assert.match(debian.read(SETTINGS), new RegExp(`^NUNCIO_PORT=${port}$`, 'm'))
  })

  it('lets root use the data from any folder, and leaves no file there that the service cannot use', async () => {
    await whileServing(async () => {
      // The service may not enter this folder, whose settings belong to something else.
      debian.append('/root/.env', 'NUNCIO_DATA_DIR=/root/elsewhere\n')

      const account = debian.mustRun(
        'sh',
        '-c',
        'cd /root && nuncio account create "Other shop" && nuncio account list',
      )

      assert.match(account, /Other shop/)
      assert.equal(debian.mustRun('find', DATA, '/var/backups/nuncio', '!', '-user', 'nuncio'), '')
      assert.match(debian.mustRun('nuncio', 'account', 'list'), /Other shop/)
    })
  })

  it('prints its commands in the form of this system', async () => {
    const printed = [debian.mustRun('nuncio', '--help'), debian.run('nuncio', 'token', 'list').stdout]

    assert.doesNotMatch(printed.join('\n'), /npm run/)
  })

  it('serves in several processes on PostgreSQL', async () => {
    const before = debian.read(SETTINGS)
    const database = await openTestDatabase()
    try {
      debian.append(SETTINGS, `NUNCIO_DATABASE_URL='${database.url}'\nNUNCIO_PROCESSES=2\n`)
      await whileServing(proveTwoProcesses)
    } finally {
      writeFileSync(join(debian.root, SETTINGS), before)
      await database.drop()
    }
  })

  it('with a running systemd, restarts the service after an upgrade, stops it before a removal and starts it afterwards', () => {
    const asked = debian.pretendSystemd()

    debian.install(first)
    const atUpgrade = asked()
    debian.mustRun('dpkg', '--remove', 'nuncio')
    const atRemoval = asked()
    debian.install(second)
    const atReturn = asked()

    const start = '--quiet --system restart nuncio.service'
    assert.ok(atUpgrade.includes(start), atUpgrade.join('\n'))
    assert.ok(atRemoval.includes('stop nuncio-backup.timer nuncio-backup.service nuncio.service'), atRemoval.join('\n'))
    assert.ok(atReturn.includes(start), atReturn.join('\n'))
  })

  it('keeps data and settings when it is removed, and uses them when it is installed again', async () => {
    const said = debian.mustRun('dpkg', '--remove', 'nuncio')

    assert.match(said, /stay in \/var\/lib\/nuncio, its settings in \/etc\/nuncio\. To delete both: apt purge nuncio/)
    assert.equal(existsSync(join(debian.root, '/usr/lib/nuncio')), false)
    debian.install(second)
    assert.match(debian.mustRun('nuncio', 'account', 'list'), /Other shop/)
    assert.match(debian.read(SETTINGS), new RegExp(`^NUNCIO_PORT=${port}$`, 'm'))
  })

  it('deletes data and settings when it is purged, reports that, and keeps backups', () => {
    const said = debian.mustRun('dpkg', '--purge', 'nuncio')

    assert.match(said, /Deleting the messages and keys of Nuncio in \/var\/lib\/nuncio\. Backups in \S+ stay\./)
    for (const path of [DATA, '/etc/nuncio', '/usr/lib/nuncio', '/usr/bin/nuncio', UNIT])
      assert.equal(existsSync(join(debian.root, path)), false, path)
    assert.ok(statSync(join(debian.root, '/var/backups/nuncio')).isDirectory())
    assert.equal(debian.mustRun('find', '/etc/systemd', '/var/lib/systemd', '-name', 'nuncio*'), '')
  })

  it('deletes the data when it is purged even if their folder is a link, and reports that the link stays', () => {
    debian.install(second)
    debian.mustRun('sh', '-c', `mv ${DATA} /srv/messages && ln -s /srv/messages ${DATA} && touch ${DATA}/nuncio.db`)

    const said = debian.mustRun('dpkg', '--purge', 'nuncio')

    assert.equal(debian.mustRun('find', '/srv/messages', '-mindepth', '1'), '')
    assert.match(said, /\/var\/lib\/nuncio itself could not be removed/)
  })
})

/** Builds the package as a release does, but with little compression: full compression takes a minute. */
function build(folder: string, revision: string): string {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(ROOT, 'scripts/build-deb.ts'), '--out', folder, '--revision', revision],
    {
      encoding: 'utf8',
      env: {
        ...process.env,
        DEBEMAIL: 'nuncio@packages.test',
        DPKG_DEB_COMPRESSOR_TYPE: 'gzip',
        DPKG_DEB_COMPRESSOR_LEVEL: '1',
      },
    },
  )
  assert.equal(status, 0, stderr)
  return stdout.trim()
}
