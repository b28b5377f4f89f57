import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, onTestFinished, vi } from 'vitest'
import { manifestText, readManifest } from '../../src/operations/backup/manifest.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { openStranger } from '../support/journey/engines.ts'
import { linesOf, openLog } from '../support/journey/open-log.ts'
import { type Journey, SENDER, startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { obstacleToDumping, shareDumpingServer } from '../support/postgres/dumping-server.ts'

const TO = '15551234567'
const obstacle = obstacleToDumping()
const createDatabase = shareDumpingServer()

type Settings = Readonly<Record<string, string>>

interface Taken {
  readonly path: string
  readonly counts: { readonly messages: number; readonly waiting: number }
}

interface Restored {
  readonly aside: string | null
  readonly acceptedSince: number | null
  readonly endedSince: readonly string[] | null
}

const SIDES: readonly { name: string; why: string | null; open: () => Promise<Settings> }[] = [
  { name: 'SQLite', why: null, open: async () => ({}) },
  {
    name: 'PostgreSQL',
    why: obstacle,
    open: async () => ({ NUNCIO_DATABASE_URL: await createDatabase() }),
  },
]

/** A service, a folder for its backups, and a clock that tests set. */
async function openKept(open: () => Promise<Settings>) {
  const settings = await open()
  const nuncio = await startNuncio({ settings })
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  return { cli: new CliOn(nuncio.dataDir, settings), folder: join(nuncio.dataDir, 'kept') }
}

async function stepBack(nuncio: Journey, state: 'paused' | 'active'): Promise<void> {
  const { id } = await nuncio.operator.administration.findConnection(SENDER, null)
  await nuncio.operator.administration.setConnectionState(id, state, 'test')
}

/** Sends one message and lets two wait, backs up, then sends one of the two and accepts and sends another. */
async function backUpAndGoOn(nuncio: Journey, settings: Settings, ...args: readonly string[]) {
  const cli = new CliOn(nuncio.dataDir, settings)
  const sent = await nuncio.text(TO, 'sent before')
  await nuncio.reaches(sent.messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  await stepBack(nuncio, 'paused')
  const [first, second] = [await nuncio.text(TO, 'waits'), await nuncio.text(TO, 'waits, too')]
  const taken = await cli.json<Taken>('backup', join(nuncio.dataDir, 'kept'), ...args)
  await nuncio.operator.administration.cancelMessage(second.messageId as never, 'test')
  await stepBack(nuncio, 'active')
  const later = await nuncio.text(TO, 'accepted after')
  for (const { messageId } of [first, later]) await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  await nuncio.stop()
  return { cli, taken, sent, first, second, later }
}

describe.each(SIDES)('backup and restore on $name', ({ why, open }) => {
  const promises = it.skipIf(why !== null)
  const note = skipNote(why)

  promises(
    `G12: brings the database back with its lanes held, and says what was sent since (situation 46)${note}`,
    async () => {
      const settings = await open()
      const nuncio = await startNuncio({ settings })
      const { cli, taken, first, second } = await backUpAndGoOn(nuncio, settings)

      const { isSound } = await cli.json<{ isSound: boolean }>('verify', taken.path)
      const restored = await cli.json<Restored>('restore', taken.path, '--replace')

      assert.ok(isSound)
      assert.deepEqual([taken.counts.messages, taken.counts.waiting], [3, 2])
      assert.deepEqual([restored.acceptedSince, restored.endedSince], [1, [first.messageId, second.messageId]])
      const back = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token, settings })
      const inbox = (await back.inbox()).length
      await stepBack(back, 'active')
      const fresh = await back.text(TO, 'accepted while held')
      const page = await openLog(back.url, back.operator)
      assert.equal(fresh.status, 200)
      assert.deepEqual(linesOf(await page(fresh.messageId)), [
        'Not sent yet.',
        'The database was restored from a backup. What was sent since is not known here.',
        'Cancel what was sent meanwhile. Then ask the person who runs Nuncio to release all numbers.',
      ])
      assert.equal((await back.timeline(first.messageId)).message.state, 'QUEUED')
      assert.match(
        (await back.operator.administration.readHold())?.reason ?? '',
        /^it was restored from the backup of 20/,
      )

      // A person cancels the message that was sent, and releases the rest.
      await back.operator.administration.cancelMessage(first.messageId as never, 'test')
      await back.operator.administration.releaseHold('test')
      for (const { messageId } of [second, fresh]) await back.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
      assert.equal((await back.inbox()).length, inbox + 2)
    },
  )

  promises(
    `G12: says that it is unknown what was sent when it replaces what was itself brought back${note}`,
    async () => {
      const settings = await open()
      const nuncio = await startNuncio({ settings })
      const { cli, taken } = await backUpAndGoOn(nuncio, settings)
      vi.useFakeTimers({ toFake: ['Date'] })
      onTestFinished(() => void vi.useRealTimers())
      await cli.json('restore', taken.path, '--replace')

      vi.setSystemTime(Date.now() + 5_000)
      const held = await cli.json<Restored>('restore', taken.path, '--replace')
      // After the release it continues from the backup, and knows nothing of what was sent since.
      await cli.json('hold', '--release')
      vi.setSystemTime(Date.now() + 5_000)
      const said = await cli.run('restore', taken.path, '--replace')

      assert.deepEqual([held.acceptedSince, held.endedSince], [null, null])
      assert.match(said.stdout, /A service used the database until .* It is unknown what it accepted and sent/)
      assert.doesNotMatch(said.stdout, /Nothing (was accepted|that waits)/)
    },
  )

  promises(`G12: shows what was sent since when people have held the lanes meanwhile${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const { cli, taken, first, second } = await backUpAndGoOn(nuncio, settings)
    await cli.json('hold', '--because', 'something is odd')

    const restored = await cli.json<Restored>('restore', taken.path, '--replace')

    assert.deepEqual([restored.acceptedSince, restored.endedSince], [1, [first.messageId, second.messageId]])
  })

  promises(`G12: holds the lanes where nothing is remembered, too, such as on another machine${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const { cli, taken, first } = await backUpAndGoOn(nuncio, settings)
    rmSync(join(nuncio.dataDir, 'remembered.json'))

    await cli.json('restore', taken.path, '--replace')

    const back = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token, settings })
    await stepBack(back, 'active')
    const timeline = await back.timeline(first.messageId)
    assert.equal(timeline.message.state, 'QUEUED')
    assert.ok(await back.operator.administration.readHold())
  })

  promises(`without the hold what waits in it would be sent again: the tests above can fail${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const { cli, taken, first } = await backUpAndGoOn(nuncio, settings)
    rmSync(join(nuncio.dataDir, 'remembered.json'))
    await cli.json('restore', taken.path, '--replace')
    const stranger = await openStranger(nuncio.database)
    await stranger.run('delete from hold')
    await stranger.close()

    const back = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token, settings })
    await stepBack(back, 'active')

    await back.reaches(first.messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  })

  promises(`refuses while a service runs, and a database that is there already${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const cli = new CliOn(nuncio.dataDir, settings)
    const { path } = await cli.json<Taken>('backup', join(nuncio.dataDir, 'kept'))

    const served = await cli.run('restore', path, '--replace')
    await nuncio.stop()
    const full = await cli.run('restore', path)

    assert.match(served.stderr, /\(database_in_use\)/)
    assert.match(full.stderr, /--replace.*\(database_not_empty\)/)
    assert.equal((await cli.json<{ held: boolean }>('hold')).held, false)
  })

  promises(`needs the key ring, or a word that it is lost${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const cli = new CliOn(nuncio.dataDir, settings)
    const { path } = await cli.json<Taken>('backup', join(nuncio.dataDir, 'kept'))
    await nuncio.stop()
    rmSync(join(nuncio.dataDir, 'keys'), { recursive: true })

    const refused = await cli.run('restore', path, '--replace')
    await cli.json('restore', path, '--replace', '--without-secrets')
    const back = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token, settings })

    assert.match(refused.stderr, /sealed with its key k\w+\. Put the copy.*\(key_ring_missing\)/)
    assert.ok(await back.operator.administration.readHold())
  })

  promises(`of another baseline is not restored, and a database of one is not backed up${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const cli = new CliOn(nuncio.dataDir, settings)
    const folder = join(nuncio.dataDir, 'kept')
    const { path } = await cli.json<Taken>('backup', folder)
    await nuncio.stop()
    const manifest = readManifest(path)
    const [first, ...more] = manifest.migrations
    const migrations = [{ ...first!, name: 'first-tables' }, ...more]
    writeFileSync(join(path, 'manifest.json'), manifestText({ ...manifest, migrations }))

    const restored = await cli.run('restore', path, '--replace')
    const verified = await cli.run('verify', path)
    const { held } = await cli.json<{ held: boolean }>('hold')
    const stranger = await openStranger(nuncio.database)
    await stranger.run(`update migration set name = 'first-tables'`)
    await stranger.close()
    rmSync(path, { recursive: true })
    const backedUp = await cli.run('backup', folder)

    assert.match(
      restored.stderr,
      /^nuncio: The backup was made by .* before the first release .*\(backup_unusable\)\n$/,
    )
    assert.equal(verified.stderr, restored.stderr)
    assert.equal(held, false)
    assert.match(backedUp.stderr, /^nuncio: The database at .* before the first release, .*\(database_unsupported\)\n$/)
    assert.deepEqual(readdirSync(folder), [])
  })

  promises(`keeps as many as the setting says, and nothing of its own that was not finished${note}`, async () => {
    const { cli, folder } = await openKept(open)
    const taken: string[] = []
    for (const day of [1, 2, 3]) {
      vi.setSystemTime(Date.UTC(2030, 0, day))
      taken.push((await cli.json<Taken>('backup', folder, '--keep', '2')).path)
    }
    writeFileSync(join(folder, 'nuncio-2020-01-01T000000Z'), 'of another program')
    vi.setSystemTime(Date.UTC(2030, 0, 3))
    const again = await cli.run('backup', folder)
    vi.setSystemTime(Date.UTC(2030, 0, 4))
    const { removed } = await cli.json<{ removed: string[] }>('backup', folder, '--keep', '1')

    assert.match(again.stderr, /nothing is overwritten.*\(backup_exists\)/)
    assert.deepEqual(removed.sort(), taken.slice(1))
    assert.deepEqual(readdirSync(folder).sort(), ['nuncio-2020-01-01T000000Z', 'nuncio-2030-01-04T000000Z'])
    const newest = join(folder, 'nuncio-2030-01-04T000000Z')
    for (const name of readdirSync(newest)) assert.equal(statSync(join(newest, name)).mode & 0o77, 0)
  })

  promises(`never removes the backup that it just made, and says when others lie in the future${note}`, async () => {
    const { cli, folder } = await openKept(open)
    for (const day of [1, 2]) {
      vi.setSystemTime(Date.UTC(2031, 0, day))
      await cli.json('backup', folder)
    }

    vi.setSystemTime(Date.UTC(2030, 0, 1))
    const { code, stderr } = await cli.run('backup', folder, '--keep', '2')

    assert.deepEqual(
      [code, readdirSync(folder).sort()],
      [0, ['nuncio-2030-01-01T000000Z', 'nuncio-2031-01-02T000000Z']],
    )
    assert.match(stderr, /warning: .* in the future: \S+nuncio-2031-01-02T000000Z\./)
  })

  promises(`refuses a backup that is damaged anywhere, with a sentence, and changes nothing${note}`, async () => {
    const settings = await open()
    const nuncio = await startNuncio({ settings })
    const cli = new CliOn(nuncio.dataDir, settings)
    await nuncio.text(TO, 'x'.repeat(3_000))
    const { path } = await cli.json<Taken>('backup', join(nuncio.dataDir, 'kept'))
    await nuncio.stop()
    const data = join(path, readdirSync(path).find((name) => name !== 'manifest.json') ?? '')
    const [whole, manifest] = [readFileSync(data), readFileSync(join(path, 'manifest.json'))]
    const flipped = (bytes: Buffer, at: number) => {
      const copy = Buffer.from(bytes)
      copy[at] = (copy[at] ?? 0) ^ (1 << (at % 8))
      return copy
    }
    const places = Array.from({ length: 12 }, (_, at) => Math.floor(((at + 0.5) / 12) * whole.length))
    const damages: [string, Buffer][] = [
      ...places.map((at): [string, Buffer] => [data, flipped(whole, at)]),
      ...[1, 17, 60, 200, manifest.length - 20].map((at): [string, Buffer] => [
        join(path, 'manifest.json'),
        flipped(manifest, at),
      ]),
      [data, whole.subarray(0, whole.length >> 1)],
      [data, Buffer.alloc(0)],
      [join(path, 'manifest.json'), manifest.subarray(0, 100)],
      [join(path, 'manifest.json'), Buffer.from('[]')],
      [join(path, 'manifest.json'), Buffer.from(manifest.toString().replace(/"mark": \d+/, '"mark": 1'))],
    ]

    for (const [file, bytes] of damages) {
      writeFileSync(file, bytes)
      const { code, stdout, stderr } = await cli.run('restore', path, '--replace')
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^nuncio: [^\n]+\(backup_unusable\)\n$/)
      const verified = await cli.run('verify', path)
      assert.deepEqual([verified.code, verified.stdout], [1, ''])
      assert.match(verified.stderr, /^nuncio: [^\n]+\(backup_unusable\)\n$/)
      writeFileSync(data, whole)
      writeFileSync(join(path, 'manifest.json'), manifest)
    }

    assert.equal((await cli.json<{ held: boolean }>('hold')).held, false)
    assert.deepEqual(
      readdirSync(nuncio.dataDir).filter((name) => /replaced|restoring/.test(name)),
      [],
    )
    await cli.json('restore', path, '--replace')
  })

  it.each([
    [
      'a folder without anything',
      () => temporaryFolder(),
      /is no backup: it has no manifest\.json.*\(backup_unusable\)/,
    ],
    ['nothing at all', () => '/nowhere/at-all', /is no backup.*\(backup_unusable\)/],
  ])('refuses %s', async (_, place, sentence) => {
    const { code, stderr } = await new CliOn(temporaryFolder()).run('restore', place())

    assert.deepEqual([code, sentence.test(stderr)], [1, true], stderr)
  })
})

describe('a backup that cannot be made', () => {
  it.each([
    ['there is no database', [], /There is no database at .*\(database_unavailable\)/],
    ['--keep is no count', ['--keep', '0'], /--keep.*\(argument_invalid\)/],
  ])('says so when %s, and leaves nothing', async (_, args, sentence) => {
    const dataDir = temporaryFolder()
    const folder = join(dataDir, 'kept')

    const { code, stderr } = await new CliOn(dataDir).run('backup', folder, ...args)

    assert.notEqual(code, 0)
    assert.match(stderr, sentence)
    assert.deepEqual(existsSync(folder) ? readdirSync(folder) : [], [])
  })
})
