import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { readSettings } from '../../../config/read-settings.ts'
import { findLockHolder } from '../../../storage/sqlite/connection/service-lock.ts'
import { findMount } from '../machine/find-mount.ts'
import { judgeAttention } from './check-attention.ts'
import { judgeLastSign, judgeOffset, judgePlausible } from './check-clock.ts'
import { judgeFolder } from './check-data-folder.ts'
import { judgeFile, judgeServer, judgeVersion } from './check-database.ts'
import { judgeMount, judgeRoom } from './check-disk.ts'
import { judgeFlush } from './check-flush.ts'
import { judgeMemory, judgeOpenFiles } from './check-limits.ts'
import { judgePort, judgeSharers } from './check-port.ts'
import { judgePages } from './check-program.ts'
import { judgeAnswers } from './check-resolver.ts'
import { judgeSettings } from './check-settings.ts'
import { judgeTimeZones } from './check-time-zones.ts'

const MB = 1024 * 1024
const NOON = Date.UTC(2026, 5, 1, 12)

function settingsFound(
  environment: Record<string, string>,
  envFile: Record<string, string> = {},
  mode: number | null = null,
) {
  const reading = readSettings({ environment, envFile })
  return judgeSettings(reading, reading.settings, mode)
}

describe('the judge of the program', () => {
  it('names the pages that an installation lacks', () => {
    const whole = judgePages(() => true)
    const bare = judgePages(() => false)
    const half = judgePages((file) => file.startsWith('console/'))

    assert.deepEqual([whole.standing, bare.standing, half.standing], ['ok', 'trouble', 'trouble'])
    assert.match(bare.sentence, /console and documents missing/)
    assert.match(half.sentence, /: documents missing/)
  })
})

describe('the judge of settings', () => {
  it('is content with none at all', () => {
    assert.deepEqual(
      settingsFound({}).map(({ standing }) => standing),
      ['ok'],
    )
  })

  it('tells every mistake, and every name that is none', () => {
    const found = settingsFound({ NUNCIO_PORT: 'http', NUNCIO_PROT: '1' })

    assert.deepEqual(
      found.map(({ standing }) => standing),
      ['trouble', 'warning'],
    )
    assert.match(found[0]?.sentence ?? '', /NUNCIO_PORT/)
  })

  it('finds a secret in a file that everybody may read, and none where they may not', () => {
    const secret = { NUNCIO_METRICS_SECRET: 'sixteen-characters' }

    assert.equal(settingsFound({}, secret, 0o100644)[0]?.standing, 'trouble')
    assert.equal(settingsFound({}, secret, 0o100600)[0]?.standing, 'ok')
    assert.equal(settingsFound({}, { NUNCIO_PORT: '9000' }, 0o100644)[0]?.standing, 'ok')
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

describe('the judge of disks', () => {
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
    const standing = (path: string, isSqlite = true) => judgeMount(findMount(MOUNTS, path), isSqlite).standing

    assert.equal(standing('/var'), 'ok')
    assert.equal(standing('/srv/my data'), 'trouble')
    assert.equal(standing('/srv/my data', false), 'warning')
    assert.equal(standing('/srv/quick'), 'warning')
    assert.equal(standing('/srv/old'), 'trouble')
    assert.equal(judgeMount({ point: '/', type: 'overlay', source: 'overlay', options: [] }, true).standing, 'warning')
    assert.equal(judgeMount(null, true).standing, 'skipped')
  })

  it('warns before a disk is full', () => {
    const room = (freeMb: number, freeFiles: number | null = null) =>
      judgeRoom({ freeBytes: freeMb * MB, totalBytes: 5_000 * MB, freeFiles }).standing

    assert.deepEqual([room(2_000), room(300), room(10), room(2_000, 12)], ['ok', 'warning', 'trouble', 'warning'])
  })

  it('doubts a flush that is too quick to be one', () => {
    assert.equal(judgeFlush({ medianMs: 0.004, slowestMs: 0.01 }).standing, 'warning')
    assert.equal(judgeFlush({ medianMs: 0.4, slowestMs: 3 }).standing, 'ok')
    assert.equal(judgeFlush({ medianMs: 80, slowestMs: 300 }).standing, 'warning')
  })

  it('tells whose the data folder is', () => {
    const look = { path: '/data', mayUse: true, ownUid: 1000, above: '/' }
    const folder = (uid: number, mode: number) => ({ uid, mode, isDirectory: true })

    assert.equal(judgeFolder({ ...look, found: null }).standing, 'ok')
    assert.equal(judgeFolder({ ...look, found: null, mayUse: false }).standing, 'trouble')
    assert.equal(judgeFolder({ ...look, found: folder(1000, 0o700) }).standing, 'ok')
    assert.equal(judgeFolder({ ...look, found: folder(1000, 0o755) }).standing, 'warning')
    assert.equal(judgeFolder({ ...look, found: folder(1000, 0o700), ownUid: 0 }).standing, 'warning')
    assert.equal(judgeFolder({ ...look, found: folder(0, 0o700), mayUse: false }).standing, 'trouble')
    assert.equal(judgeFolder({ ...look, found: { ...folder(1000, 0o600), isDirectory: false } }).standing, 'trouble')
  })
})

describe('the judge of databases', () => {
  const FILE = { sizeBytes: MB, walBytes: 0, version: 3, known: 3, journalMode: 'wal', synchronous: 2, damage: 'ok' }

  it('believes a file only when its settings were read back and every page is in order', () => {
    assert.equal(judgeFile(FILE)[0]?.standing, 'ok')
    assert.equal(judgeFile({ ...FILE, synchronous: 1 })[0]?.standing, 'trouble')
    assert.equal(judgeFile({ ...FILE, journalMode: 'delete' })[0]?.standing, 'trouble')
    assert.equal(judgeFile({ ...FILE, damage: 'row 3 missing' })[0]?.standing, 'trouble')
    assert.equal(judgeFile({ ...FILE, walBytes: 4_096 * MB })[0]?.standing, 'warning')
  })

  it('tells what stands in the way on a server', () => {
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
    const standings = (change: Partial<typeof server>) =>
      judgeServer({ ...server, ...change }, settings).map(({ standing }) => standing)

    assert.deepEqual(standings({}), ['ok'])
    assert.deepEqual(standings({ connectionsLeft: 23 }), ['ok', 'warning'])
    for (const kind of ['transactions', 'multixacts'] as const) {
      assert.deepEqual(standings({ [kind]: { left: 500_000_000, overdue: 900_000_000 } }), ['ok', 'warning'])
      assert.deepEqual(standings({ [kind]: { left: 500_000_000, overdue: -100_000_000 } }), ['ok'])
      assert.deepEqual(standings({ [kind]: { left: -5, overdue: 0 } }), ['ok', 'warning'])
    }
    assert.deepEqual(standings({ isSuperuser: true }), ['ok', 'warning'])
    assert.deepEqual(standings({ isThroughPooler: true, connectionsLeft: 0 }), ['ok', 'warning'])
  })

  it('compares versions', () => {
    assert.deepEqual(
      [judgeVersion(null, 5), judgeVersion(5, 5), judgeVersion(4, 5), judgeVersion(6, 5)].map(
        ({ standing }) => standing,
      ),
      ['ok', 'ok', 'warning', 'warning'],
    )
  })
})

describe('the judge of clocks', () => {
  it('finds a clock that is before the program, or before the last sign of life', () => {
    assert.equal(judgePlausible(NOON, NOON - 1).standing, 'ok')
    assert.equal(judgePlausible(0, NOON).standing, 'trouble')
    assert.equal(judgeLastSign(NOON, NOON + 5).standing, 'ok')
    assert.equal(judgeLastSign(NOON + 90_000, NOON).standing, 'trouble')
  })

  it('forgives what the way to the database and back hides', () => {
    const standing = (clockAheadMs: number, clockUncertainMs: number) =>
      judgeOffset({ clockAheadMs, clockUncertainMs }).standing

    assert.deepEqual(
      [standing(200, 1), standing(1_400, 600), standing(-3_000, 5), standing(90_000, 5)],
      ['ok', 'ok', 'warning', 'trouble'],
    )
  })
})

describe('the judge of the machine', () => {
  it('reads how many files may be open', () => {
    const limits = (hard: string) =>
      `Max processes 1 2 x\nMax open files            1024                 ${hard}                files\n`

    assert.equal(judgeOpenFiles(limits('1048576'), null).standing, 'ok')
    assert.equal(judgeOpenFiles(limits('unlimited'), null).standing, 'ok')
    assert.equal(judgeOpenFiles(limits('1024'), 7).standing, 'warning')
    assert.equal(judgeOpenFiles(null, null).standing, 'skipped')
  })

  it('wants memory', () => {
    assert.deepEqual([judgeMemory(8_000 * MB).standing, judgeMemory(128 * MB).standing], ['ok', 'warning'])
  })

  it('finds who holds a lock', () => {
    const locks =
      '1: POSIX  ADVISORY  READ 11 08:01:77 0 EOF\n2: POSIX  ADVISORY  WRITE 4242 08:01:5678 1073741824 1073742335\n'

    assert.equal(findLockHolder(locks, { ino: 5678 }), 4242)
    assert.equal(findLockHolder(locks, { ino: 77 }), null)
  })

  it('knows our service from another program, and a free port from both', () => {
    const seen = { url: 'http://127.0.0.1:8080', port: 8080, holder: null }
    const standing = (answer: Parameters<typeof judgePort>[0]['answer'], holder: number | null = null) =>
      judgePort({ ...seen, answer, holder }).standing

    assert.equal(standing({ kind: 'nobody' }), 'ok')
    assert.equal(standing({ kind: 'nobody' }, 42), 'warning')
    assert.equal(standing({ kind: 'stranger' }), 'trouble')
    assert.equal(standing({ kind: 'ours', troubles: [] }), 'ok')
    assert.equal(standing({ kind: 'ours', troubles: ['storage'] }), 'trouble')
    assert.equal(standing(null), 'skipped')
  })

  it('finds two machines on one SQLite database', () => {
    const of = (...hosts: readonly string[]) => judgeSharers(hosts.map((host) => ({ host, pid: 1 })))

    assert.deepEqual(of('one', 'one'), [])
    assert.equal(of('one', 'two')[0]?.standing, 'trouble')
  })
})

describe('the judge of DNS servers', () => {
  const answer = (server: string, addresses: readonly string[], code: string | null = null) => ({
    server,
    addresses,
    code,
  })

  it('wants each to answer, and with a public address', () => {
    const judge = (...answers: readonly ReturnType<typeof answer>[]) => judgeAnswers('example.com', answers).standing

    assert.equal(judge(answer('9.9.9.9', ['93.184.216.34'])), 'ok')
    assert.equal(judge(answer('9.9.9.9', ['93.184.216.34']), answer('10.0.0.1', [], 'ETIMEOUT')), 'warning')
    assert.equal(judge(answer('10.0.0.1', [], 'ETIMEOUT')), 'trouble')
    assert.equal(judge(answer('10.0.0.1', [], 'ENOTFOUND')), 'trouble')
    assert.equal(judge(answer('10.0.0.1', ['10.0.0.7'])), 'warning')
    assert.equal(judge(), 'trouble')
  })
})

describe('the judge of time zones', () => {
  it('finds quiet hours that this Node could not keep', () => {
    const quiet = { from: '22:00', to: '07:00', timeZone: 'Mars/Olympus' }
    const connections = [{ number: '15550001000', policy: { quietHours: quiet } }] as never

    assert.equal(judgeTimeZones([], () => true).standing, 'ok')
    assert.match(judgeTimeZones(connections, (zone) => zone !== 'Mars/Olympus').sentence, /15550001000/)
    assert.equal(judgeTimeZones([], () => false).standing, 'trouble')
  })
})

describe('the judge of what wants attention', () => {
  const NOTHING = { hold: null, unconfirmed: [], standing: [], tokens: [] }

  it('counts, and names the lanes that stand still', () => {
    const lane = { number: '15550001000', reason: 'paused', waiting: 4 } as never

    assert.equal(judgeAttention(NOTHING)[0]?.standing, 'ok')
    assert.match(
      judgeAttention({ ...NOTHING, hold: { since: NOON, reason: 'restored' } })[0]?.sentence ?? '',
      /held.*restored/,
    )
    assert.match(judgeAttention({ ...NOTHING, standing: [lane] })[0]?.sentence ?? '', /15550001000 stands still with 4/)
    assert.equal(judgeAttention({ ...NOTHING, standing: [lane, lane, lane, lane] }).length, 4)
    assert.match(
      judgeAttention({ ...NOTHING, tokens: [{ name: 'shop' } as never] })[0]?.sentence ?? '',
      /1 token expires.*“shop”/,
    )
  })
})
