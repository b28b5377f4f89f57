import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SpoolUnavailable } from '../core/ports/media.ts'
import { openSpoolId } from './spool-id.ts'

let folder: string
beforeEach(async () => {
  folder = join(await mkdtemp(join(tmpdir(), 'nuncio-spool-id-')), 'data', 'spool')
})
afterEach(() => rm(join(folder, '..', '..'), { recursive: true, force: true }))

describe('the id of a spool', () => {
  it('is made with the folder, stays, and is of this folder alone', async () => {
    const first = await openSpoolId(folder)

    expect(first).toMatch(/^spool-[0-9a-f-]{36}$/)
    expect(await openSpoolId(folder)).toBe(first)
    expect(await openSpoolId(join(folder, 'other'))).not.toBe(first)
  })

  it('is the same for concurrent callers, and leaves no other file behind', async () => {
    for (let round = 0; round < 20; round++) {
      const ours = join(folder, String(round))
      const late = async (ms: number) => {
        await pause(ms)
        return openSpoolId(ours)
      }

      const ids = await Promise.all(Array.from({ length: 12 }, (_, i) => late(i / 2)))

      expect(new Set(ids).size).toBe(1)
      expect(await readdir(ours)).toEqual(['spool-id'])
    }
  })

  it('is the same for processes that start together', async () => {
    const script = `import { openSpoolId } from ${JSON.stringify(new URL('spool-id.ts', import.meta.url).href)}
      process.stdout.write(await openSpoolId(process.argv[1]))`
    const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, folder])

    const outputs = await Promise.all(Array.from({ length: 4 }, run))

    expect(new Set(outputs.map(({ stdout }) => stdout)).size).toBe(1)
    expect(outputs[0]?.stdout).toBe(await openSpoolId(folder))
  })

  it('waits for one that is being written', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'spool-id'), 'spool-')
    const opening = openSpoolId(folder)

    const whole = 'spool-01234567-89ab-cdef-0123-456789abcdef'
    await writeFile(join(folder, 'spool-id'), `${whole}\n`)

    expect(await opening).toBe(whole)
  })

  it('says what to do with a damaged one, and does not replace it', async () => {
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'spool-id'), 'nonsense')

    await expect(openSpoolId(folder)).rejects.toThrow(/spool-id is damaged. Remove it/)
    expect(await readFile(join(folder, 'spool-id'), 'utf8')).toBe('nonsense')
  })

  it('G11: says so when the folder cannot be made', async () => {
    await mkdir(join(folder, '..'), { recursive: true })
    await writeFile(folder, '')

    await expect(openSpoolId(folder)).rejects.toThrow(SpoolUnavailable)
  })
})
