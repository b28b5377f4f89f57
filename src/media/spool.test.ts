import { execFileSync } from 'node:child_process'
import { access, chmod, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { FETCHER, MediaWorld } from '../../test/support/media-world/media-world.ts'
import { answering } from '../../test/support/media-world/test-host.ts'
import type { WorkerId } from '../core/ids.ts'
import { SpoolUnavailable } from '../core/ports/media.ts'
import { Spool } from './spool.ts'

const OTHER = 'other' as WorkerId

let directory: string
let own: string
let spool: Spool
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'nuncio-spool-')), 'spool')
  own = join(directory, FETCHER)
  spool = new Spool({ directory, worker: FETCHER })
})
afterEach(() => rm(join(directory, '..'), { recursive: true, force: true }))

async function keepOne(name: string, content = 'content', from = spool): Promise<string> {
  const file = await from.create(name)
  await file.write([Buffer.from(content)])
  return file.keep()
}

/** A disk on which one operation of every file fails, or, once files are there, of every folder. */
function brokenDisk(operation: 'writev' | 'sync' | 'sync of the folder', code: string): Spool {
  let isFolderThere = false
  const openBroken = (async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    const isFile = args[1] !== 'r'
    const isBroken = operation === 'sync of the folder' ? !isFile && isFolderThere : isFile
    isFolderThere ||= isFile
    if (!isBroken) return handle
    handle[operation === 'writev' ? 'writev' : 'sync'] = async () => {
      throw Object.assign(new Error('the disk says no'), { code })
    }
    return handle
  }) as typeof open
  return new Spool({ directory, worker: FETCHER, openFile: openBroken })
}

describe('the spool', () => {
  it('keeps a whole file under its name, readable only by us', async () => {
    const path = await keepOne('m-1')

    expect(path).toBe(join(own, 'm-1.media'))
    expect(await readFile(path, 'utf8')).toBe('content')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(own)).mode & 0o777).toBe(0o700)
    expect((await stat(directory)).mode & 0o777).toBe(0o700)
  })

  it('G1: has the disk keep the folders, then the content, then the name', async () => {
    const calls: string[] = []
    const names = new Map([
      [join(directory, '..'), 'above the spool'],
      [directory, 'spool'],
      [own, 'folder'],
    ])
    const openNoting = (async (...args: Parameters<typeof open>) => {
      const handle = await open(...args)
      const sync = handle.sync.bind(handle)
      handle.sync = async () => {
        const isKept = (await readdir(own)).includes('m-1.media')
        calls.push(`${names.get(String(args[0])) ?? 'file'}, ${isKept ? 'after' : 'before'} the rename`)
        await sync()
      }
      return handle
    }) as typeof open
    const noting = new Spool({ directory, worker: FETCHER, openFile: openNoting })
    const file = await noting.create('m-1')
    await file.keep()
    const ofFirst = calls.splice(0)
    await keepOne('m-2', 'content', noting)

    expect(ofFirst).toEqual([
      'spool, before the rename',
      'above the spool, before the rename',
      'file, before the rename',
      'folder, after the rename',
    ])
    // The folders are there by now.
    expect(calls.length).toBe(2)
  })

  it('shows an unfinished file as such, and removes an abandoned one', async () => {
    const file = await spool.create('m-1')
    await file.write([Buffer.from('half')])

    expect(await readdir(own)).toEqual(['m-1.part'])
    await file.abandon()
    expect(await readdir(own)).toEqual([])
    await file.abandon()
  })

  it.each(['', '../escape', 'a/b', 'a.b', 'a b', 'a\0b', '.', 'ä', 'a'.repeat(201)])(
    'refuses the name %j',
    async (name) => {
      await expect(spool.create(name)).rejects.toThrow(TypeError)
    },
  )

  it('refuses a name that is being written', async () => {
    const first = await spool.create('m-1')

    await expect(spool.create('m-1')).rejects.toThrow('in use')
    await first.abandon()
  })

  it('replaces a finished file of the same name: its fetch could not be recorded and is made again', async () => {
    await keepOne('m-1', 'first')

    expect(await readFile(await keepOne('m-1', 'second'), 'utf8')).toBe('second')
  })

  it('writes neither through a link nor into a file that another user put there', async () => {
    const victim = join(directory, '..', 'victim')
    await writeFile(victim, 'precious')
    await mkdir(own, { recursive: true })
    await symlink(victim, join(own, 'm-1.part'))

    await keepOne('m-1', 'new')

    expect(await readFile(victim, 'utf8')).toBe('precious')
  })

  it('starts anew over what a crash left under the same name', async () => {
    await mkdir(own, { recursive: true })
    await writeFile(join(own, 'm-1.part'), 'left by a crash, and longer')

    expect(await readFile(await keepOne('m-1', 'new'), 'utf8')).toBe('new')
  })

  it('refuses a worker whose name could lead elsewhere', () => {
    expect(() => new Spool({ directory, worker: '../elsewhere' as WorkerId })).toThrow(TypeError)
  })

  it('lets two workers write a file of the same name side by side', async () => {
    const other = new Spool({ directory, worker: OTHER })
    const first = await spool.create('m-1')

    const path = await keepOne('m-1', 'of the other', other)
    await first.write([Buffer.from('ours')])

    expect(await readFile(await first.keep(), 'utf8')).toBe('ours')
    expect(await readFile(path, 'utf8')).toBe('of the other')
  })

  it('discards a file of any worker, twice without harm, and nothing outside', async () => {
    const path = await keepOne('m-1')
    const fromBefore = join(directory, 'm-2.media')
    const outside = [join(directory, '..', 'x.media'), join(own, 'notes.txt'), join(own, 'deeper', 'x.media')]
    await mkdir(join(own, 'deeper'))
    for (const each of [fromBefore, ...outside]) await writeFile(each, '')

    const other = new Spool({ directory, worker: OTHER })
    for (const each of [path, path, fromBefore, ...outside, directory, '/etc/passwd']) await other.discard(each)

    expect((await readdir(directory)).sort()).toEqual([FETCHER])
    for (const each of outside) await access(each)
    await expect(access(path)).rejects.toThrow('ENOENT')
  })

  it.each([
    ['writev', 'ENOSPC'],
    ['writev', 'EIO'],
    ['writev', 'EDQUOT'],
    ['sync', 'EIO'],
    ['sync of the folder', 'EIO'],
  ] as const)(
    'G11: says that the spool is unavailable when %s fails with %s, and leaves nothing',
    async (operation, code) => {
      const spoolOfBrokenDisk = brokenDisk(operation, code)

      const working = (async () => {
        const file = await spoolOfBrokenDisk.create('m-1')
        try {
          await file.write([Buffer.from('x')])
          await file.keep()
        } finally {
          await file.abandon()
        }
      })()

      await expect(working).rejects.toThrow(SpoolUnavailable)
      await expect(working).rejects.toMatchObject({ cause: { code } })
      expect(await readdir(own)).toEqual([])
    },
  )

  it('G11: says so when the folder cannot be made', async () => {
    await writeFile(join(directory, '..', 'file'), '')

    const broken = new Spool({ directory: join(directory, '..', 'file', 'spool'), worker: FETCHER })

    await expect(broken.create('m-1')).rejects.toThrow(SpoolUnavailable)
  })
})

describe('the sweep of the spool', () => {
  const nothing = { living: [], wanted: new Set<string>() }

  it('removes unneeded files of dead workers, then their empty folders, and only those', async () => {
    const dead = join(directory, 'dead')
    const wanted = join(dead, 'wanted.media')
    const others = [
      join(directory, 'notes.txt'),
      join(directory, 'dead', 'notes.txt'),
      join(directory, 'a b', 'x.media'),
    ]
    await mkdir(join(dead, 'folder.media'), { recursive: true })
    await mkdir(join(directory, 'empty'))
    await mkdir(join(directory, 'a b'))
    await writeFile(join(directory, 'spool-id'), '')
    for (const each of [wanted, ...others]) await writeFile(each, '')
    for (const name of ['crashed.part', 'unknown.media']) await writeFile(join(dead, name), '')
    // From before each worker had a folder of its own.
    await writeFile(join(directory, 'old.media'), '')
    await writeFile(join(directory, 'old.part'), '')

    const swept = await spool.sweep({ living: [], wanted: new Set([wanted]) })

    expect(swept).toEqual({ removed: 4, missing: [] })
    expect((await readdir(directory)).sort()).toEqual(['a b', 'dead', 'notes.txt', 'spool-id'])
    expect((await readdir(dead)).sort()).toEqual(['folder.media', 'notes.txt', 'wanted.media'])
    await access(join(directory, 'a b', 'x.media'))
  })

  it('keeps the files of live workers and its own', async () => {
    const other = new Spool({ directory, worker: OTHER })
    const [running, othersRunning] = [await spool.create('running'), await other.create('running')]
    // Not recorded yet, so not wanted.
    const kept = [await keepOne('kept'), await keepOne('kept', 'content', other)]

    const swept = await spool.sweep({ living: [OTHER], wanted: new Set() })

    expect(swept).toEqual({ removed: 0, missing: [] })
    await running.keep()
    await othersRunning.keep()
    for (const path of kept) await access(path)
  })

  it('control: removes the files of a worker that is not named as alive', async () => {
    await keepOne('kept', 'content', new Spool({ directory, worker: OTHER }))

    expect(await spool.sweep(nothing)).toEqual({ removed: 1, missing: [] })
    expect(await readdir(directory)).toEqual([])
  })

  it('does not stop a worker that was wrongly considered dead', async () => {
    const other = new Spool({ directory, worker: OTHER })
    const file = await other.create('m-1')
    await spool.sweep(nothing)

    await expect(file.keep()).rejects.toThrow(SpoolUnavailable)
    await file.abandon()

    expect(await readFile(await keepOne('m-1', 'again', other), 'utf8')).toBe('again')
  })

  it('names wanted files that are not there, wherever they should be', async () => {
    const elsewhere = join(directory, '..', 'moved.media')
    await writeFile(elsewhere, '')
    const there = await keepOne('there')
    const gone = [join(own, 'gone.media'), join(directory, 'dead', 'gone.media'), join(directory, '..', 'gone.media')]

    const { missing } = await spool.sweep({ living: [], wanted: new Set([there, elsewhere, ...gone]) })

    expect(missing).toEqual(gone)
  })

  it('works in a folder that is not there yet', async () => {
    expect(await spool.sweep(nothing)).toEqual({ removed: 0, missing: [] })
  })

  it('G11: reports no file as missing while the disk does not answer', async () => {
    await writeFile(join(directory, '..', 'file'), '')
    const broken = new Spool({ directory: join(directory, '..', 'file'), worker: FETCHER })

    await expect(broken.sweep({ living: [], wanted: new Set(['/somewhere/x.media']) })).rejects.toThrow(
      SpoolUnavailable,
    )
  })

  it('may run in several workers at once', async () => {
    for (let i = 0; i < 200; i++) {
      await mkdir(join(directory, `dead-${i % 20}`), { recursive: true })
      await writeFile(join(directory, `dead-${i % 20}`, `left-${i}.media`), '')
    }
    const sweepers = ['one', 'two', 'three'].map((worker) => new Spool({ directory, worker: worker as WorkerId }))

    await Promise.all(sweepers.map((each) => each.sweep(nothing)))

    expect(await readdir(directory)).toEqual([])
  })
})

describe('a fetch on a broken disk', () => {
  let world: MediaWorld
  beforeEach(async () => {
    world = await MediaWorld.open()
  })
  afterEach(() => world.close())

  it.each(['writev', 'sync'] as const)('G11: fails nothing and leaves nothing when %s fails', async (operation) => {
    const host = await world.host(answering(200, {}, Buffer.alloc(200_000, 'x')))
    const replaced = { spool: brokenDisk(operation, 'ENOSPC') }

    await expect(world.fetch(host.url(), { type: 'document', replaced })).rejects.toThrow(SpoolUnavailable)

    expect(await readdir(own)).toEqual([])
    await expect.poll(() => host.open).toBe(0)
  })

  it.runIf(canMount())('G11: does the same on a disk that is really full (needs root; else skipped)', async () => {
    await mkdir(directory)
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', directory])
    try {
      await chmod(directory, 0o700)
      const host = await world.host(answering(200, {}, Buffer.alloc(2_000_000, 'x')))
      const options = { type: 'document', spoolDir: directory } as const

      const failing = world.fetch(host.url(), options)

      await expect(failing).rejects.toThrow(SpoolUnavailable)
      await expect(failing).rejects.toMatchObject({ cause: { code: 'ENOSPC' } })
      expect(await readdir(own)).toEqual([])
      const small = await world.host(answering(200, {}, 'fits again'))
      expect((await world.fetch(small.url(), options)).kind).toBe('fetched')
    } finally {
      execFileSync('umount', [directory])
    }
  })
})

function canMount(): boolean {
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
