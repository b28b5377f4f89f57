import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findShipped, type Lock, type Locked } from './shipped-packages.ts'
import { ROOT } from './source-tree.ts'

// Not `npm sbom`: leaving out what only development needs, it also leaves out what both need (npm 10 and 11).

if (import.meta.main) console.log(JSON.stringify(readSbom(), null, 2))

/** Of what package-lock.json names. */
export function readSbom() {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  return makeSbom(lock, randomUUID())
}

/** What runs, as CycloneDX 1.6: packages that neither development alone nor a certain system needs. Pure. */
export function makeSbom(lock: Lock, serial: string) {
  const { name, version, packages } = lock
  const license = packages['']?.license
  return {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${serial}`,
    version: 1,
    metadata: {
      component: { type: 'application', name, version, purl: `pkg:npm/${name}@${version}`, ...licensed(license) },
    },
    components: findShipped(lock).map((path) =>
      toComponent(path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length), packages[path] ?? {}),
    ),
  }
}

function toComponent(name: string, { version = '', integrity, license }: Locked) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const content = /^sha512-(.+)$/.exec(integrity ?? '')?.[1]
  const hashes = content ? [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }] : []
  return { type: 'library', 'bom-ref': purl, name, version, purl, hashes, ...licensed(license) }
}

/** An expression, because some packages name several licences. */
function licensed(license: string | undefined) {
  return license === undefined ? {} : { licenses: [{ expression: license.replace(/^\((.*)\)$/, '$1') }] }
}
