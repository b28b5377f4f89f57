import { randomUUID } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './source-tree.ts'

// Not `npm sbom`: together with development packages it leaves out those that both need. npm 11.19 lists 97 of our 119 packages,
// and not `pg`.

const IN_MODULES = 'node_modules/'

/** An entry of package-lock.json. */
interface Locked {
  /** Only if the package is installed under another name. */
  readonly name?: string
  readonly link?: boolean
  readonly version?: string
  readonly integrity?: string
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

interface Lock {
  readonly name: string
  readonly version: string
  /** By their folders; our own package has the key ''. */
  readonly packages: Readonly<Record<string, Locked>>
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { extras: { type: 'string', default: join(ROOT, 'data/extras') } } })
  console.log(JSON.stringify(readSbom(values.extras), null, 2))
}

/** Lists what package-lock.json names, and the packages of channels that were installed in a folder `extras`. */
export function readSbom(extras?: string) {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock
  const sbom = makeSbom(lock, randomUUID())
  return extras === undefined ? sbom : { ...sbom, components: [...sbom.components, ...installedIn(extras)] }
}

/** npm writes to each folder a list of what it has installed there. */
function installedIn(extras: string) {
  return globSync('*/node_modules/.package-lock.json', { cwd: extras }).flatMap((path) => {
    const { packages } = JSON.parse(readFileSync(join(extras, path), 'utf8')) as Pick<Lock, 'packages'>
    // Links and their targets are our own packages.
    const names = Object.keys(packages).filter((place) => place.includes(IN_MODULES) && !packages[place]?.link)
    return names.map((place) => componentAt(packages, place))
  })
}

/** The packages at run time as CycloneDX 1.6: without those only for development or only for one system. Pure. */
function makeSbom(lock: Lock, serial: string) {
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
    components: findShipped(lock).map((place) => componentAt(packages, place)),
  }
}

function componentAt(packages: Lock['packages'], place: string) {
  const entry = packages[place] ?? {}
  return toComponent(entry.name ?? place.slice(place.lastIndexOf(IN_MODULES) + IN_MODULES.length), entry)
}

function toComponent(name: string, { version = '', integrity, license }: Locked) {
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  const content = /^sha512-(.+)$/.exec(integrity ?? '')?.[1]
  const hashes = content ? [{ alg: 'SHA-512', content: Buffer.from(content, 'base64').toString('hex') }] : []
  return { type: 'library', 'bom-ref': purl, name, version, purl, hashes, ...licensed(license) }
}

/** An expression, because some packages have several licences. */
function licensed(license: string | undefined) {
  return license === undefined ? {} : { licenses: [{ expression: license.replace(/^\((.*)\)$/, '$1') }] }
}

/**
 * The folders of the packages that the program needs at run time, without those for development or for one system only. Found by
 * following the dependencies, because the marks in the lock file may be out of date, and npm itself does not use them.
 */
function findShipped({ packages }: Lock): readonly string[] {
  const found = new Set<string>()
  const follow = (from: string) => {
    const entry = packages[from]
    const peers = Object.keys(entry?.peerDependencies ?? {}).filter(
      (name) => !entry?.peerDependenciesMeta?.[name]?.optional,
    )
    for (const name of [...Object.keys(entry?.dependencies ?? {}), ...(from === '' ? [] : peers)]) {
      const place = locate(packages, from, name)
      if (place === null || found.has(place)) continue
      found.add(place)
      follow(place)
    }
  }
  follow('')
  return [...found].toSorted()
}

/** Finds a package as Node does: beside the importing package, then in each folder above. Null if it was not installed. */
function locate(packages: Lock['packages'], from: string, name: string): string | null {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const place = `${at === '' ? '' : `${at}/`}node_modules/${name}`
    if (place in packages) return place
    if (at === '') return null
  }
}
