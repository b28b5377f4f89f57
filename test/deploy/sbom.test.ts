import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

describe('the list of what we ship', () => {
  it('names every package that runs, its version and licence, and none of development', () => {
    const text = execFileSync(process.execPath, ['scripts/print-sbom.ts'], { cwd: ROOT, encoding: 'utf8' })

    const { bomFormat, components } = JSON.parse(text) as {
      bomFormat: string
      components: readonly { name: string; version: string; licenses?: unknown; hashes: readonly unknown[] }[]
    }
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>
    }
    const found = new Map(components.map(({ name, version }) => [name, version]))
    assert.equal(bomFormat, 'CycloneDX')
    assert.deepEqual(
      Object.entries(dependencies).filter(([name, version]) => found.get(name) !== version),
      [],
    )
    assert.deepEqual(
      components.filter(({ licenses, hashes }) => !licenses || hashes.length !== 1).map(({ name }) => name),
      [],
    )
    assert.deepEqual(
      ['vite', 'vitest', 'react', 'typescript'].filter((name) => found.has(name)),
      [],
    )
  })
})
