import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { cannotWrite, openCacheFolder } from './cache-folder.ts'

const ANOTHER_USER = 4_242
const canGiveAway = process.getuid?.() === 0

let home: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'nuncio-cache-'))
  vi.stubEnv('HOME', home)
  vi.stubEnv('XDG_CACHE_HOME', undefined)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(home, { recursive: true })
})

describe('the folder that the executable unpacks into', () => {
  it('is made in the home folder, for this user alone', () => {
    const folder = openCacheFolder()

    assert.equal(folder, join(home, '.cache/nuncio'))
    assert.equal(statSync(folder).mode & 0o777, 0o700)
  })

  it('is the one that XDG_CACHE_HOME names, by an absolute path', () => {
    vi.stubEnv('XDG_CACHE_HOME', join(home, 'deep/er'))
    const named = openCacheFolder()
    vi.stubEnv('XDG_CACHE_HOME', 'relative')

    assert.equal(named, join(home, 'deep/er/nuncio'))
    assert.equal(openCacheFolder(), join(home, '.cache/nuncio'))
  })

  it('is one in the temporary folder where the user has no home', () => {
    writeFileSync(join(home, 'file'), '')
    vi.stubEnv('HOME', join(home, 'file'))
    vi.stubEnv('TMPDIR', home)

    assert.equal(openCacheFolder(), join(home, `nuncio-${process.getuid?.()}`))
  })

  it('is refused when it cannot be made where XDG_CACHE_HOME says', () => {
    writeFileSync(join(home, 'file'), '')
    vi.stubEnv('XDG_CACHE_HOME', join(home, 'file'))

    assert.throws(openCacheFolder, /cannot write there \(ENOTDIR\)\. Make it writable .* XDG_CACHE_HOME\.$/)
  })

  it.each([
    ['itself', '.cache/nuncio'],
    ['a folder above it', '.cache'],
  ])('is refused when others may write to %s', (_, path) => {
    openCacheFolder()
    chmodSync(join(home, path), 0o777)

    assert.throws(openCacheFolder, new RegExp(`Run \`chmod go-w ${join(home, path)}\`, or `))
  })

  it('may lie in a folder in which each user can only remove what is their own', () => {
    chmodSync(home, 0o1777)

    assert.equal(openCacheFolder(), join(home, '.cache/nuncio'))
  })

  it.skipIf(!canGiveAway).each([
    ['it', '.cache/nuncio'],
    ['a folder above it', '.cache'],
  ])(
    `is refused when %s belongs to another user${canGiveAway ? '' : ' (skipped: only root can give a folder away)'}`,
    (_, path) => {
      openCacheFolder()
      chownSync(join(home, path), ANOTHER_USER, ANOTHER_USER)

      assert.throws(openCacheFolder, new RegExp(`^Error: ${join(home, path)} belongs to another user, `))
    },
  )

  it.skipIf(!canGiveAway)(
    `is not made in the home of another user${canGiveAway ? '' : ' (skipped: only root can give a folder away)'}`,
    () => {
      chownSync(home, ANOTHER_USER, ANOTHER_USER)

      assert.throws(openCacheFolder, new RegExp(`^Error: ${home} belongs to another user, `))
      assert.equal(existsSync(join(home, '.cache')), false)
    },
  )

  it('is refused when it is a link, which could be changed later', () => {
    mkdirSync(join(home, '.cache'))
    mkdirSync(join(home, 'elsewhere'))
    symlinkSync(join(home, 'elsewhere'), join(home, '.cache/nuncio'))

    assert.throws(openCacheFolder, /is not a folder/)
  })

  it('is named by where it lies, when a folder above it is a link', () => {
    mkdirSync(join(home, 'elsewhere'))
    symlinkSync(join(home, 'elsewhere'), join(home, '.cache'))

    assert.equal(openCacheFolder(), join(home, 'elsewhere/nuncio'))
  })
})

describe('a folder that cannot be written', () => {
  it('gets another error than a full disk', () => {
    assert.match(cannotWrite('/c', Object.assign(new Error(), { code: 'ENOSPC' })).message, /Free 20 MB there/)
    assert.match(cannotWrite('/c', Object.assign(new Error(), { code: 'EROFS' })).message, /Make it writable/)
  })
})
