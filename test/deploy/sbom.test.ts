import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')

describe('the list of what we ship', () => {
  it('names every package at run time with its version and licence, and no development package', () => {
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

  it('names the packages of a channel that were installed, under their own names', () => {
    const extras = mkdtempSync(join(tmpdir(), 'nuncio-sbom-'))
    onTestFinished(() => rmSync(extras, { recursive: true }))
    const modules = join(extras, 'whatsapp-web/node_modules')
    mkdirSync(modules, { recursive: true })
    const packages = {
      'node_modules/baileys': { version: '7.0.0', license: 'MIT', integrity: 'sha512-aaaa' },
      'node_modules/baileys/node_modules/ws': { version: '8.0.0', license: 'MIT', integrity: 'sha512-aaaa' },
      'node_modules/libsignal': { resolved: 'signal', link: true },
      'node_modules/libsignal-original': {
        name: 'libsignal',
        version: '6.0.0',
        license: 'GPL-3.0',
        integrity: 'sha512-aaaa',
      },
      signal: { version: '1.0.0', license: 'MIT' },
    }
    writeFileSync(join(modules, '.package-lock.json'), JSON.stringify({ packages }))

    const [without, withExtras] = [join(extras, 'nothing'), extras].map(readPurls)

    assert.deepEqual(
      withExtras?.filter((purl) => !without?.includes(purl)),
      ['pkg:npm/baileys@7.0.0', 'pkg:npm/ws@8.0.0', 'pkg:npm/libsignal@6.0.0'],
    )
  })
})

function readPurls(extras: string): readonly string[] {
  const text = execFileSync(process.execPath, ['scripts/print-sbom.ts', '--extras', extras], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  return (JSON.parse(text) as { components: readonly { purl: string }[] }).components.map(({ purl }) => purl)
}
