import assert from 'node:assert/strict'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import type { MessageId } from '../../core/ids.ts'
import { MediaCopies } from './media-copies.ts'

const BOUND = 1_000

let folder: string
let copiesFolder: string
let made = 0
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-copies-'))
  copiesFolder = join(folder, 'copies')
  made = 0
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

describe('the copies of the sandbox', () => {
  it('outlive the fetched file', async () => {
    const copies = new MediaCopies(copiesFolder, BOUND)
    const path = await keep(copies, 10)
    rmSync(join(folder, 'file-1'))

    assert.ok(path)
    assert.equal(readFileSync(path, 'utf8'), 'x'.repeat(10))
  })

  it('keep within their bound, the oldest going first', async () => {
    const copies = new MediaCopies(copiesFolder, BOUND)
    for (let i = 0; i < 5; i++) await keep(copies, 300)

    assert.deepEqual(readdirSync(copiesFolder), ['message-003', 'message-004', 'message-005'])
    assert.equal(await keep(copies, BOUND + 1), null)
  })

  it('keep near their bound when several processes make them', async () => {
    const processes = [1, 2, 3, 4].map(() => new MediaCopies(copiesFolder, BOUND))
    let most = 0
    for (let i = 0; i < 80; i++) {
      await keep(processes[i % 4]!, 50)
      most = Math.max(most, bytesIn(copiesFolder))
    }

    assert.ok(most <= BOUND * 1.25, `${most} bytes`)
    assert.ok(bytesIn(copiesFolder) >= BOUND * 0.75)
    assert.ok(readdirSync(copiesFolder).includes('message-080'))
  })

  it('may be removed while another process lists them', async () => {
    const processes = [1, 2, 3, 4].map(() => new MediaCopies(copiesFolder, BOUND))

    const paths = await Promise.all(Array.from({ length: 200 }, (_, i) => keep(processes[i % 4]!, 100)))

    assert.ok(paths.every((path) => path !== null))
    // Copies that other processes were writing during the last listing are removed by the next one.
    assert.ok(await keep(processes[0]!, 100))
    assert.ok(bytesIn(copiesFolder) <= BOUND)
  })

  it('are made beside one that has just gone', async () => {
    mkdirSync(copiesFolder)
    // A listing process sees a name without a file.
    symlinkSync('nowhere', join(copiesFolder, 'message-000'))

    assert.ok(await keep(new MediaCopies(copiesFolder, BOUND), 10))
  })

  it('that cannot be made fail nothing', async () => {
    writeFileSync(copiesFolder, '')

    assert.equal(await keep(new MediaCopies(copiesFolder, BOUND), 10), null)
  })
})

function keep(copies: MediaCopies, sizeBytes: number): Promise<string | null> {
  made += 1
  const path = join(folder, `file-${made}`)
  writeFileSync(path, 'x'.repeat(sizeBytes))
  const messageId = `message-${String(made).padStart(3, '0')}` as MessageId
  return copies.keep(messageId, { path, sizeBytes, sha256: '00', mime: 'image/png' })
}

function bytesIn(directory: string): number {
  return readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0)
}
