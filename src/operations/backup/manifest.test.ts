import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, it } from 'vitest'
import { MANIFEST_NAME, readManifest } from './manifest.ts'

const MODULE = fileURLToPath(new URL('manifest.ts', import.meta.url))

describe('the manifest of a backup from an untrusted source', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-manifest-'))
    return () => rmSync(folder, { recursive: true })
  })

  it('is refused unread when it is larger than any of ours', () => {
    writeFileSync(join(folder, MANIFEST_NAME), '')
    // Takes no room on the disk.
    truncateSync(join(folder, MANIFEST_NAME), 3 * 1024 ** 3)

    assert.throws(() => readManifest(folder), { code: 'backup_unusable', message: /too large for what it should be/ })
  })

  it('is refused where it is no file, without waiting for content that may never come', () => {
    execFileSync('mkfifo', [join(folder, MANIFEST_NAME)])
    // In another process, because reading it could block for ever.
    const read = `import(${JSON.stringify(MODULE)}).then((m) => m.readManifest(${JSON.stringify(folder)})).catch((e) => console.log(e.code))`

    const said = execFileSync(process.execPath, ['-e', read], { encoding: 'utf8', timeout: 20_000 })

    assert.equal(said.trim(), 'backup_unusable')
  })
})
