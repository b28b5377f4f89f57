import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { PostgresBinaries } from './postgres-binaries.ts'

const isRoot = process.getuid?.() === 0

describe('the programs of PostgreSQL', () => {
  let folder: string

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'nuncio-binaries-'))
    chmodSync(folder, 0o755)
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  it('are found and run', async () => {
    const binaries = await PostgresBinaries.open()

    assert.ok(binaries.majorVersion >= 15)
  })

  it('are refused with a sentence that says what to do when they do not run', async () => {
    const bin = write(
      'echo "postgres: error while loading shared libraries: libicui18n.so.60: cannot open" >&2; exit 127',
    )

    await assert.rejects(
      PostgresBinaries.open(bin),
      /^Error: PostgreSQL cannot run here \(.*libicui18n\.so\.60: cannot open\): run `npm ci` again, or set NUNCIO_TEST_POSTGRES_URL/,
    )
  })

  it('are refused with a sentence when they are missing', async () => {
    await assert.rejects(PostgresBinaries.open(join(folder, 'gone')), /PostgreSQL cannot run here \(.*ENOENT\)/)
  })

  it.skipIf(!isRoot)(
    'are copied to a folder that their user may enter, and the copy is removed at the end (as root only)',
    async () => {
      const bin = write('echo "postgres (PostgreSQL) 18.4"')
      chmodSync(folder, 0o700)

      const binaries = await PostgresBinaries.open(bin)

      const { folder: copy, majorVersion } = binaries
      await binaries.close()
      assert.notEqual(copy, bin)
      assert.equal(majorVersion, 18)
      await assert.rejects(PostgresBinaries.open(copy), /ENOENT/)
    },
  )

  function write(script: string): string {
    const bin = join(folder, 'postgres', 'bin')
    mkdirSync(bin, { recursive: true })
    writeFileSync(join(bin, 'postgres'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    return bin
  }
})
