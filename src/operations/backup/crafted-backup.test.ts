import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it } from 'vitest'
import { CliOn } from '../../../test/support/journey/cli-on.ts'
import { startNuncio, temporaryFolder } from '../../../test/support/journey/start-nuncio.ts'
import { digestFile } from './disk.ts'
import { MANIFEST_NAME, manifestText, readManifest, SQLITE_NAME } from './manifest.ts'

const MEDIA = 'spool/worker/a.media'

/** Its folder, and one beside it that the backup must not reach. */
interface Place {
  readonly backup: string
  readonly outside: string
}

/** A backup with one file of media in it, whose manifest fits whatever `craft` leaves there. */
async function makeBackup(craft: (place: Place) => void): Promise<{ backup: string; into: string; cli: CliOn }> {
  const nuncio = await startNuncio()
  const cli = new CliOn(nuncio.dataDir)
  const { path: backup } = await cli.json<{ path: string }>('backup', join(nuncio.dataDir, 'kept'))
  await nuncio.stop()
  const [outside, into] = [temporaryFolder(), temporaryFolder()]
  const taken = readManifest(backup)
  mkdirSync(dirname(join(backup, MEDIA)), { recursive: true })
  writeFileSync(join(backup, MEDIA), 'media')
  craft({ backup, outside })
  const files = [SQLITE_NAME, MEDIA].map(async (name) => ({ name, ...(await digest(join(backup, name))) }))
  const made = { ...taken, mediaFrom: '/spool', files: await Promise.all(files) }
  writeFileSync(join(backup, MANIFEST_NAME), manifestText(made))
  const keyRing = { NUNCIO_KEY_RING_FILE: join(nuncio.dataDir, 'keys/key-ring.json') }
  return { backup, into, cli: new CliOn(into, keyRing) }
}

function digest(path: string): ReturnType<typeof digestFile> | { bytes: number; sha256: string } {
  const isPipe = execFileSync('stat', ['-Lc', '%F', path], { encoding: 'utf8' }).startsWith('fifo')
  return isPipe ? { bytes: 0, sha256: '0'.repeat(64) } : digestFile(path, () => {})
}

/** The same bytes, reached by a link. */
function moveOut({ backup, outside }: Place, name: string): void {
  renameSync(join(backup, name), join(outside, 'moved'))
  symlinkSync(join(outside, 'moved'), join(backup, name))
}

function makePipe({ backup }: Place, name: string): void {
  rmSync(join(backup, name))
  execFileSync('mkfifo', [join(backup, name)])
}

function run({ backup }: Place, sql: string): void {
  const database = new DatabaseSync(join(backup, SQLITE_NAME))
  database.exec(sql)
  database.close()
}

describe('a backup from an untrusted source', () => {
  it('is restored where nothing is wrong with it', async () => {
    const { backup, into, cli } = await makeBackup(() => {})

    const { code, stderr } = await cli.run('restore', backup)

    assert.equal(code, 0, stderr)
    assert.ok(existsSync(join(into, MEDIA)))
  })

  it.each<[string, (place: Place) => void, RegExp]>([
    ['has a pipe for a database', (place) => makePipe(place, SQLITE_NAME), /nuncio\.db is no regular file/],
    ['has a pipe for a file', (place) => makePipe(place, MEDIA), /a\.media is no regular file/],
    ['has a link for a database', (place) => moveOut(place, SQLITE_NAME), /nuncio\.db is a link/],
    ['has a link for a file', (place) => moveOut(place, MEDIA), /a\.media is a link/],
    ['has a link for a folder', (place) => moveOut(place, 'spool'), /spool is a link/],
    ['has a link for a manifest', (place) => moveOut(place, MANIFEST_NAME), /manifest\.json is no file/],
    [
      'has a trigger of its own',
      (place) => run(place, 'create trigger t after insert on audit begin delete from message; end'),
      /the trigger “t” was added/,
    ],
    ['has a table of its own', (place) => run(place, 'create table stranger (a)'), /the table “stranger” was added/],
    ['has an index of its own', (place) => run(place, 'create index i on audit (at)'), /the index “i” was added/],
    ['has a view of its own', (place) => run(place, 'create view v as select 1'), /the view “v” was added/],
    ['lacks a table', (place) => run(place, 'drop table alarm'), /was added, changed or taken away/],
    [
      'has a column more',
      (place) => run(place, 'alter table hold add column more text'),
      /the table “hold” was added, changed/,
    ],
  ])('is refused with one sentence by restore and verify when it %s', async (_, craft, sentence) => {
    const { backup, into, cli } = await makeBackup(craft)

    const answers = [await cli.run('restore', backup), await cli.run('verify', backup)]

    for (const { code, stdout, stderr } of answers) {
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, /^nuncio: [^\n]+\(backup_unusable\)\n$/)
      assert.match(stderr, sentence)
    }
    assert.equal(existsSync(join(into, SQLITE_NAME)), false)
  })
})
