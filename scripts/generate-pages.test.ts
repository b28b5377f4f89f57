import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { findStalePages, writePages } from './generate-pages.ts'

describe('generated pages', () => {
  const pages = [
    { file: 'docs/refusals.md', make: () => '# Refusals\n' },
    { file: 'docs/configuration.md', make: async () => '# Configuration\n' },
  ]
  let root: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'nuncio-pages-'))
  })

  afterEach(() => rmSync(root, { recursive: true }))

  it('are fresh once written', async () => {
    const written = await writePages(root, pages)

    assert.deepEqual(written, ['docs/refusals.md', 'docs/configuration.md'])
    assert.equal(readFileSync(join(root, 'docs/configuration.md'), 'utf8'), '# Configuration\n')
    assert.deepEqual(await findStalePages(root, pages), [])
  })

  it('are named when missing or stale, with how to fix it', async () => {
    await writePages(root, pages.slice(0, 1))
    writeFileSync(join(root, 'docs/refusals.md'), '# Refusals, edited by hand\n')

    const found = await findStalePages(root, pages)

    assert.deepEqual(
      found.map(({ file, problem }) => `${file} ${problem}`),
      ['docs/refusals.md no longer says what the sources say', 'docs/configuration.md is missing'],
    )
    assert.match(found[0]?.remedy ?? '', /npm run generate/)
  })
})
