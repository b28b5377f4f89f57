import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { readSettings } from '../../../config/read-settings.ts'
import { findLockHolder } from '../../../storage/sqlite/connection/service-lock.ts'
import { findMount } from '../machine/find-mount.ts'
import { assessAttention } from './check-attention.ts'
import { assessLastSign, assessOffset, assessPlausible } from './check-clock.ts'
import { assessFolder } from './check-data-folder.ts'
import { assessFile, assessServer, assessVersion } from './check-database.ts'
import { assessMount, assessRoom } from './check-disk.ts'
import { assessFlush } from './check-flush.ts'
import { assessMemory, assessOpenFiles } from './check-limits.ts'
import { assessPort, assessSharers } from './check-port.ts'
import { assessPages } from './check-program.ts'
import { assessAnswers } from './check-resolver.ts'
import { assessSettings } from './check-settings.ts'
import { assessTimeZones } from './check-time-zones.ts'

const MB = 1024 * 1024
const NOON = Date.UTC(2026, 5, 1, 12)

function settingsFound(
  environment: Record<string, string>,
  envFile: Record<string, string> = {},
  mode: number | null = null,
) {
  const reading = readSettings({ environment, envFile })
  return assessSettings(reading, reading.settings, mode)
}

describe('the check of the program', () => {
  it('names the pages that an installation lacks', () => {
    const whole = assessPages(() => true)
    const bare = assessPages(() => false)
    const half = assessPages((file) => file.startsWith('console/'))

    assert.deepEqual([whole.status, bare.status, half.status], ['ok', 'problem', 'problem'])
    assert.match(bare.sentence, /console and documents missing/)
    assert.match(half.sentence, /: documents missing/)
  })
})

describe('the check of settings', () => {
  it('is content with none at all', () => {
    assert.deepEqual(
      settingsFound({}).map(({ status }) => status),
      ['ok'],
    )
  })

  it('reports every mistake, and every unknown name', () => {
    const found = settingsFound({ NUNCIO_PORT: 'http', NUNCIO_PROT: '1' })

    assert.deepEqual(
      found.map(({ status }) => status),
      ['problem', 'warning'],
    )
    assert.match(found[0]?.sentence ?? '', /NUNCIO_PORT/)
  })

  it('finds a secret in a file that everybody may read, and none where they may not', () => {
    const secret = { NUNCIO_METRICS_SECRET: 'sixteen-characters' }

    assert.equal(settingsFound({}, secret, 0o100644)[0]?.status, 'problem')
    assert.equal(settingsFound({}, secret, 0o100600)[0]?.status, 'ok')
    assert.equal(settingsFound({}, { NUNCIO_PORT: '9000' }, 0o100644)[0]?.status, 'ok')
  })

  it('finds addresses that contradict each other', () => {
    const about = (environment: Record<string, string>) =>
      settingsFound(environment)
        .map(({ sentence }) => sentence)
        .join()

    assert.match(about({ NUNCIO_PUBLIC_URL: 'http://chat.example.org' }), /plain http/)
    assert.match(about({ NUNCIO_PUBLIC_URL: 'https://chat.example.org' }), /NUNCIO_TRUSTED_PROXIES names none/)
    assert.match(about({ NUNCIO_HOST: '0.0.0.0' }), /other machines cannot reach/)
  })
})

describe('the check of disks', () => {
  const MOUNTS = [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '30 22 0:40 / /srv/my\\040data rw - nfs4 server:/data rw',
    '31 22 0:41 / /srv/quick rw - tmpfs tmpfs rw',
    '32 22 0:42 / /srv/old ro - xfs /dev/sdb1 ro',
  ].join('\n')

  it('finds the mount that a folder lies on', () => {
    assert.equal(findMount(MOUNTS, '/var/lib/nuncio')?.type, 'ext4')
    assert.equal(findMount(MOUNTS, '/srv/my data/nuncio')?.type, 'nfs4')
    assert.equal(findMount(MOUNTS, '/srv/quickly')?.type, 'ext4')
  })

  it('refuses SQLite on a network share, and warns of memory, containers and what cannot be written', () => {
    const status = (path: string, isSqlite = true) => assessMount(findMount(MOUNTS, path), isSqlite).status

    assert.equal(status('/var'), 'ok')
    assert.equal(status('/srv/my data'), 'problem')
    assert.equal(status('/srv/my data', false), 'warning')
    assert.equal(status('/srv/quick'), 'warning')
    assert.equal(status('/srv/old'), 'problem')
    assert.equal(assessMount({ point: '/', type: 'overlay', source: 'overlay', options: [] }, true).status, 'warning')
    assert.equal(assessMount(null, true).status, 'skipped')
  })

  it('warns before a disk is full', () => {
    const room = (freeMb: number, freeFiles: number | null = null) =>
      assessRoom({ freeBytes: freeMb * MB, totalBytes: 5_000 * MB, freeFiles }).status

    assert.deepEqual([room(2_000), room(300), room(10), room(2_000, 12)], ['ok', 'warning', 'problem', 'warning'])
  })

  it('doubts a flush that is too quick to be one', () => {
    assert.equal(assessFlush({ medianMs: 0.004, slowestMs: 0.01 }).status, 'warning')
    assert.equal(assessFlush({ medianMs: 0.4, slowestMs: 3 }).status, 'ok')
    assert.equal(assessFlush({ medianMs: 80, slowestMs: 300 }).status, 'warning')
  })

  it('reports the owner of the data folder', () => {
    const facts = { path: '/data', mayUse: true, ownUid: 1000, above: '/' }
    const folder = (uid: number, mode: number) => ({ uid, mode, isDirectory: true })

    assert.equal(assessFolder({ ...facts, found: null }).status, 'ok')
    assert.equal(assessFolder({ ...facts, found: null, mayUse: false }).status, 'problem')
    assert.equal(assessFolder({ ...facts, found: folder(1000, 0o700) }).status, 'ok')
    assert.equal(assessFolder({ ...facts, found: folder(1000, 0o755) }).status, 'warning')
    assert.equal(assessFolder({ ...facts, found: folder(1000, 0o700), ownUid: 0 }).status, 'warning')
    assert.equal(assessFolder({ ...facts, found: folder(0, 0o700), mayUse: false }).status, 'problem')
    assert.equal(assessFolder({ ...facts, found: { ...folder(1000, 0o600), isDirectory: false } }).status, 'problem')
  })
})

describe('the check of databases', () => {
  const FILE = { sizeBytes: MB, walBytes: 0, version: 3, known: 3, journalMode: 'wal', synchronous: 2, damage: 'ok' }

  it('believes a file only when its settings were read back and every page is in order', () => {
    assert.equal(assessFile(FILE)[0]?.status, 'ok')
    assert.equal(assessFile({ ...FILE, synchronous: 1 })[0]?.status, 'problem')
    assert.equal(assessFile({ ...FILE, journalMode: 'delete' })[0]?.status, 'problem')
    assert.equal(assessFile({ ...FILE, damage: 'row 3 missing' })[0]?.status, 'problem')
    assert.equal(assessFile({ ...FILE, walBytes: 4_096 * MB })[0]?.status, 'warning')
  })

  it('reports what stands in the way on a server', () => {
    const server = {
      server: 'db:5432',
      version: '18.4',
      fsync: 'on',
      fullPageWrites: 'on',
      synchronousCommit: 'on',
      synchronousStandbys: '',
      connectionsLeft: 90,
      connections: 97,
      transactions: { left: 1_900_000_000, overdue: -100_000_000 },
      multixacts: { left: 1_900_000_000, overdue: -300_000_000 },
      isSuperuser: false,
      isThroughPooler: false,
      clockAheadMs: 0,
      clockUncertainMs: 1,
      migrated: 1,
      known: 1,
    }
    const url = 'postgres://nuncio@db/nuncio'
    const settings = {
      database: { engine: 'postgres', url, listenUrl: url, migrateUrl: url },
      processes: 1,
    } as const
    const statuses = (change: Partial<typeof server>) =>
      assessServer({ ...server, ...change }, settings).map(({ status }) => status)

    assert.deepEqual(statuses({}), ['ok'])
    assert.deepEqual(statuses({ connectionsLeft: 23 }), ['ok', 'warning'])
    for (const kind of ['transactions', 'multixacts'] as const) {
      assert.deepEqual(statuses({ [kind]: { left: 500_000_000, overdue: 900_000_000 } }), ['ok', 'warning'])
      assert.deepEqual(statuses({ [kind]: { left: 500_000_000, overdue: -100_000_000 } }), ['ok'])
      assert.deepEqual(statuses({ [kind]: { left: -5, overdue: 0 } }), ['ok', 'warning'])
    }
    assert.deepEqual(statuses({ isSuperuser: true }), ['ok', 'warning'])
    assert.deepEqual(statuses({ isThroughPooler: true, connectionsLeft: 0 }), ['ok', 'warning'])
  })

  it('compares versions', () => {
    assert.deepEqual(
      [assessVersion(null, 5), assessVersion(5, 5), assessVersion(4, 5), assessVersion(6, 5)].map(
        ({ status }) => status,
      ),
      ['ok', 'ok', 'warning', 'warning'],
    )
  })
})

describe('the check of clocks', () => {
  it('finds a clock that is before the program, or before the last sign of life', () => {
    assert.equal(assessPlausible(NOON, NOON - 1).status, 'ok')
    assert.equal(assessPlausible(0, NOON).status, 'problem')
    assert.equal(assessLastSign(NOON, NOON + 5).status, 'ok')
    assert.equal(assessLastSign(NOON + 90_000, NOON).status, 'problem')
  })

  it('forgives what the way to the database and back hides', () => {
    const status = (clockAheadMs: number, clockUncertainMs: number) =>
      assessOffset({ clockAheadMs, clockUncertainMs }).status

    assert.deepEqual(
      [status(200, 1), status(1_400, 600), status(-3_000, 5), status(90_000, 5)],
      ['ok', 'ok', 'warning', 'problem'],
    )
  })
})

describe('the check of the machine', () => {
  it('reads how many files may be open', () => {
    const limits = (hard: string) =>
      `Max processes 1 2 x\nMax open files            1024                 ${hard}                files\n`

    assert.equal(assessOpenFiles(limits('1048576'), null).status, 'ok')
    assert.equal(assessOpenFiles(limits('unlimited'), null).status, 'ok')
    assert.equal(assessOpenFiles(limits('1024'), 7).status, 'warning')
    assert.equal(assessOpenFiles(null, null).status, 'skipped')
  })

  it('wants memory', () => {
    assert.deepEqual([assessMemory(8_000 * MB).status, assessMemory(128 * MB).status], ['ok', 'warning'])
  })

  it('finds who holds a lock', () => {
    const locks =
      '1: POSIX  ADVISORY  READ 11 08:01:77 0 EOF\n2: POSIX  ADVISORY  WRITE 4242 08:01:5678 1073741824 1073742335\n'

    assert.equal(findLockHolder(locks, { ino: 5678 }), 4242)
    assert.equal(findLockHolder(locks, { ino: 77 }), null)
  })

  it('knows our service from another program, and a free port from both', () => {
    const seen = { url: 'http://127.0.0.1:8080', port: 8080, holder: null }
    const status = (answer: Parameters<typeof assessPort>[0]['answer'], holder: number | null = null) =>
      assessPort({ ...seen, answer, holder }).status

    assert.equal(status({ kind: 'nothing' }), 'ok')
    assert.equal(status({ kind: 'nothing' }, 42), 'warning')
    assert.equal(status({ kind: 'stranger' }), 'problem')
    assert.equal(status({ kind: 'ours', problems: [] }), 'ok')
    assert.equal(status({ kind: 'ours', problems: ['storage'] }), 'problem')
    assert.equal(status(null), 'skipped')
  })

  it('finds two machines on one SQLite database', () => {
    const of = (...hosts: readonly string[]) => assessSharers(hosts.map((host) => ({ host, pid: 1 })))

    assert.deepEqual(of('one', 'one'), [])
    assert.equal(of('one', 'two')[0]?.status, 'problem')
  })
})

describe('the check of DNS servers', () => {
  const answer = (server: string, addresses: readonly string[], code: string | null = null) => ({
    server,
    addresses,
    code,
  })

  it('wants each to answer, and with a public address', () => {
    const assess = (...answers: readonly ReturnType<typeof answer>[]) => assessAnswers('example.com', answers).status

    assert.equal(assess(answer('9.9.9.9', ['93.184.216.34'])), 'ok')
    assert.equal(assess(answer('9.9.9.9', ['93.184.216.34']), answer('10.0.0.1', [], 'ETIMEOUT')), 'warning')
    assert.equal(assess(answer('10.0.0.1', [], 'ETIMEOUT')), 'problem')
    assert.equal(assess(answer('10.0.0.1', [], 'ENOTFOUND')), 'problem')
    assert.equal(assess(answer('10.0.0.1', ['10.0.0.7'])), 'warning')
    assert.equal(assess(), 'problem')
  })
})

describe('the check of time zones', () => {
  it('finds quiet hours that this Node could not keep', () => {
    const quiet = { from: '22:00', to: '07:00', timeZone: 'Mars/Olympus' }
    const connections = [{ number: '15550001000', policy: { quietHours: quiet } }] as never

    assert.equal(assessTimeZones([], () => true).status, 'ok')
    assert.match(assessTimeZones(connections, (zone) => zone !== 'Mars/Olympus').sentence, /15550001000/)
    assert.equal(assessTimeZones([], () => false).status, 'problem')
  })
})

describe('the check of what needs attention', () => {
  const NOTHING = { hold: null, unconfirmed: 0, items: [] }
  const item = { key: 'a', title: '3 messages failed: Busy', nextStepByCommand: 'Retry them.' }

  it('counts, and names the first three things', () => {
    const [none] = assessAttention(NOTHING)
    const [held] = assessAttention({ ...NOTHING, hold: { since: NOON, reason: 'restored' } })
    const [unconfirmed] = assessAttention({ ...NOTHING, unconfirmed: 2 })
    const four = assessAttention({ ...NOTHING, items: [item, item, item, item] })

    assert.equal(none?.status, 'ok')
    assert.match(held?.sentence ?? '', /held.*restored/)
    assert.match(unconfirmed?.sentence ?? '', /^2 messages are unconfirmed/)
    assert.deepEqual(
      four.map(({ sentence }) => sentence),
      [item.title, item.title, item.title, '1 more thing needs attention.'],
    )
  })
})
