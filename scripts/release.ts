import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import packageFile from '../package.json' with { type: 'json' }
import { readSbom } from './print-sbom.ts'
import { ROOT } from './source-tree.ts'

/**
 * `npm run release`: builds everything that a person publishes, into the folder `release`. It publishes nothing itself: that
 * needs accounts, which belong to people.
 */
const OUT = join(ROOT, 'release')
const NOTES = 'NOTES.md'

/** One package of Nuncio. An npm script builds it into the folder that `--out` names. */
interface Package {
  readonly what: string
  readonly script: string
  readonly options?: readonly string[]
  /** The program that building it needs. */
  readonly tool: string | null
}

const PACKAGES: readonly Package[] = [
  {
    what: 'the executable',
    script: 'build:executable',
    // The executable for Windows can be built too, but was never run.
    options: ['--system', 'linux-x64', '--system', 'linux-arm64'],
    tool: null,
  },
  { what: 'the Debian package', script: 'build:deb', tool: 'dpkg-deb' },
  { what: 'the container image', script: 'build:image', tool: 'buildah' },
]

if (import.meta.main) release()

function release(): void {
  const { version } = packageFile
  const notes = findNotes(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), version)
  const obstacle = obstacleTo({ changes: run('git', 'status', '--porcelain'), notes, version })
  if (obstacle !== null) {
    console.error(`release: ${obstacle}`)
    process.exitCode = 1
    return
  }
  rmSync(OUT, { recursive: true, force: true })
  mkdirSync(OUT)
  run('npm', 'pack', join(ROOT, 'dist'), '--pack-destination', OUT)
  // Files of an earlier build would be packed as well.
  rmSync(join(ROOT, 'client/dist'), { recursive: true, force: true })
  run('npm', 'run', 'build:client')
  run('npm', 'pack', join(ROOT, 'client'), '--pack-destination', OUT)
  for (const way of PACKAGES) {
    const why = whyLeftOut(way, { scripts: packageFile.scripts, hasTool }) ?? make(way)
    if (why !== null) console.log(`Left out ${way.what}: ${why}`)
  }
  writeFileSync(join(OUT, 'sbom.json'), `${JSON.stringify(readSbom(), null, 2)}\n`)
  writeFileSync(join(OUT, NOTES), notes ?? '')
  writeFileSync(join(OUT, 'SHA256SUMS'), sumsOf(OUT))
  console.log(publishing(version, readdirSync(OUT)))
}

/** Why no release can be made; null if one can. `changes`: git's list of uncommitted files. */
export function obstacleTo(found: { changes: string; notes: string | null; version: string }): string | null {
  if (found.changes.trim() !== '') {
    return 'Files here are not as they are committed: commit them or take them away (git status lists them), so that others can make the same release.'
  }
  if (found.notes === null) {
    return `CHANGELOG.md has no section for the version ${found.version} of package.json: write one with the heading “## ${found.version}”.`
  }
  return null
}

/** The changelog's section for this version, without its heading; null if there is none. */
export function findNotes(changelog: string, version: string): string | null {
  const sections = changelog.split(/^## /m).slice(1)
  const [, ...lines] = sections.find((section) => section.split(/[\s,]/)[0] === version)?.split('\n') ?? []
  const notes = lines.join('\n').trim()
  return notes === '' ? null : `${notes}\n`
}

/** Null: it can be built here. */
export function whyLeftOut(
  { script, tool }: Package,
  here: { readonly scripts: Readonly<Record<string, string>>; hasTool(name: string): boolean },
): string | null {
  if (!(script in here.scripts)) return `there is no npm script ${script}.`
  if (tool !== null && !here.hasTool(tool)) return `${tool} is not installed; on Debian, install it and start again.`
  return null
}

/** Null: it was built. After a failure the others are still built, but the caller must notice the failure. */
function make({ script, options = [] }: Package): string | null {
  try {
    run('npm', 'run', script, '--', '--out', OUT, ...options)
    return null
  } catch {
    process.exitCode = 1
    return `npm run ${script} failed, as it says above.`
  }
}

function hasTool(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0
}

function sumsOf(folder: string): string {
  const lines = readdirSync(folder).map((file) => `${hash('sha256', readFileSync(join(folder, file)))}  ${file}\n`)
  return lines.join('')
}

/** The next steps for a person. */
export function publishing(version: string, files: readonly string[]): string {
  const image = files.find((file) => file.endsWith('.tar'))
  const others = files.filter((file) => !file.endsWith('.tgz') && file !== image && file !== NOTES)
  return `
release/ holds ${files.join(', ')}.
Nothing is published yet. To publish it:

  git tag v${version} && git push origin v${version}
  npm publish release/nuncio-${version}.tgz
  npm publish release/nuncio-client-${version}.tgz
${image === undefined ? '' : `  docker load --input release/${image}\n  docker tag nuncio:${version} REGISTRY/nuncio:${version} && docker push REGISTRY/nuncio:${version}\n`}
Put ${others.join(', ')} where people find them, with the text of ${NOTES} as the notes of the release.`
}

function run(command: string, ...args: readonly string[]): string {
  return execFileSync(command, args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}
