import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, open, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import { answering } from '../../test/support/media-world/test-host.ts'
import { SpoolUnavailable } from '../core/ports/media.ts'
import { Spool } from './spool.ts'

let directory: string
let spool: Spool
beforeEach(async () => {
  directory = join(await mkdtemp(join(tmpdir(), 'nuncio-spool-')), 'spool')
  spool = new Spool(directory)
})
afterEach(() => rm(join(directory, '..'), { recursive: true, force: true }))

async function keepOne(name: string, content = 'content'): Promise<string> {
  const file = await spool.create(name)
  await file.write([Buffer.from(content)])
  return file.keep()
}

/** A disk on which one operation of every file fails. */
function brokenDisk(operation: 'writev' | 'sync', code: string): Spool {
  const openBroken = (async (...args: Parameters<typeof open>) => {
    const handle = await open(...args)
    handle[operation] = async () => {
      throw Object.assign(new Error('the disk says no'), { code })
    }
    return handle
  }) as typeof open
  return new Spool(directory, openBroken)
}

describe('the spool', () => {
  it('keeps a whole file under its name, readable only by us', async () => {
    const path = await keepOne('m-1')

    expect(path).toBe(join(directory, 'm-1.media'))
    expect(await readFile(path, 'utf8')).toBe('content')
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect((await stat(directory)).mode & 0o777).toBe(0o700)
  })

  it('G1: has the disk keep the content before the name, and then the name', async () => {
    const calls: string[] = []
    const openNoting = (async (...args: Parameters<typeof open>) => {
      const handle = await open(...args)
      const sync = handle.sync.bind(handle)
      handle.sync = async () => {
        const isKept = (await readdir(directory)).includes('m-1.media')
        calls.push(`${args[0] === directory ? 'folder' : 'file'}, ${isKept ? 'after' : 'before'} the rename`)
        await sync()
      }
      return handle
    }) as typeof open
    const file = await new Spool(directory, openNoting).create('m-1')

    await file.keep()

    expect(calls).toEqual(['file, before the rename', 'folder, after the rename'])
  })

  it('shows an unfinished file as such, and removes an abandoned one', async () => {
    const file = await spool.create('m-1')
    await file.write([Buffer.from('half')])

    expect(await readdir(directory)).toEqual(['m-1.part'])
    await file.abandon()
    expect(await readdir(directory)).toEqual([])
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

  it('writes neither through a link nor into a file that somebody put there', async () => {
    const victim = join(directory, '..', 'victim')
    await writeFile(victim, 'precious')
    await mkdir(directory)
    await symlink(victim, join(directory, 'm-1.part'))

    await keepOne('m-1', 'new')

    expect(await readFile(victim, 'utf8')).toBe('precious')
  })

  it('starts anew over what a crash left under the same name', async () => {
    await mkdir(directory)
    await writeFile(join(directory, 'm-1.part'), 'left by a crash, and longer')

    expect(await readFile(await keepOne('m-1', 'new'), 'utf8')).toBe('new')
  })

  it('discards a file, twice without harm, and nothing outside', async () => {
    const path = await keepOne('m-1')
    const outside = join(directory, '..', 'x.media')
    await writeFile(outside, '')

    await spool.discard(path)
    await spool.discard(path)

    expect(await readdir(directory)).toEqual([])
    await expect(spool.discard(outside)).rejects.toThrow('Only files of the spool')
    await expect(spool.discard(join(directory, '../x.media'))).rejects.toThrow('Only files of the spool')
    await expect(spool.discard(directory)).rejects.toThrow('Only files of the spool')
    await expect(spool.discard('/etc/passwd')).rejects.toThrow('Only files of the spool')
  })

  it('sweeps what an earlier process left and nobody knows, and only that', async () => {
    const known = await keepOne('known')
    await keepOne('unknown')
    const next = new Spool(directory)
    await writeFile(join(directory, 'crashed.part'), '')
    await writeFile(join(directory, 'notes.txt'), '')
    await mkdir(join(directory, 'folder.media'))
    const running = await next.create('running')

    const removed = await next.sweep(new Set([known]))

    expect(removed).toBe(2)
    expect((await readdir(directory)).sort()).toEqual(['folder.media', 'known.media', 'notes.txt', 'running.part'])
    await running.keep()
    // Just finished, perhaps not recorded yet.
    expect(await next.sweep(new Set([known]))).toBe(0)
  })

  it('sweeps a folder that is not there yet', async () => {
    expect(await spool.sweep(new Set())).toBe(0)
  })

  it.each([
    ['writev', 'ENOSPC'],
    ['writev', 'EIO'],
    ['writev', 'EDQUOT'],
    ['sync', 'EIO'],
  ] as const)(
    'G11: says that the spool is unavailable when %s fails with %s, and leaves nothing',
    async (operation, code) => {
      const file = await brokenDisk(operation, code).create('m-1')

      const working = file.write([Buffer.from('x')]).then(() => file.keep())

      await expect(working).rejects.toThrow(SpoolUnavailable)
      await expect(working).rejects.toMatchObject({ cause: { code } })
      await file.abandon()
      expect(await readdir(directory)).toEqual([])
    },
  )

  it('G11: says so when the folder cannot be made', async () => {
    await writeFile(join(directory, '..', 'file'), '')

    await expect(new Spool(join(directory, '..', 'file', 'spool')).create('m-1')).rejects.toThrow(SpoolUnavailable)
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

    expect(await readdir(directory)).toEqual([])
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
      expect(await readdir(directory)).toEqual([])
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
