import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { brotliCompressSync, constants } from 'node:zlib'
import packageFile from '../package.json' with { type: 'json' }
import type { PackedFile } from '../src/executable/unpack-program.ts'
import { ROOT } from './source-tree.ts'
import { viteBuild } from './vite-build.ts'

/**
 * `node scripts/build-executable.ts [--out FOLDER] [--system linux-x64] [--system …]`: builds one file for each system that
 * contains Node and all of `dist/`, as Node's single executable application. `dist/` must be built before.
 */
const { values } = parseArgs({
  options: {
    out: { type: 'string', default: join(ROOT, 'release') },
    system: {
      type: 'string',
      multiple: true,
      default: [`${process.platform.replace('win32', 'win')}-${process.arch}`],
    },
  },
})

const NODES: Readonly<Record<string, string>> = packageFile.optionalDependencies
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'
const HASH_SHOWN = 16
// The best quality would take half a minute, and save a hundredth of the executable.
const QUALITY = 9

mkdirSync(values.out, { recursive: true })
const aside = mkdtempSync(join(values.out, '.executable-'))
try {
  const blob = await buildBlob()
  for (const system of values.system) console.log(buildExecutable(system, blob))
} finally {
  rmSync(aside, { recursive: true, force: true })
}

function buildExecutable(system: string, blob: string): string {
  const ending = system.startsWith('win-') ? '.exe' : ''
  const made = join(aside, 'nuncio')
  copyFileSync(join(folderOfNode(system), 'bin', `node${ending}`), made)
  chmodSync(made, 0o755)
  runNode(join(ROOT, 'node_modules/postject/dist/cli.js'), made, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', FUSE)
  const finished = join(values.out, `nuncio-${packageFile.version}-${system}${ending}`)
  renameSync(made, finished)
  return `${finished} (${(statSync(finished).size / 1e6).toFixed(1)} MB)`
}

/** The blob that Node carries, the same for every system. */
async function buildBlob(): Promise<string> {
  const [output, config] = [join(aside, 'blob'), join(aside, 'config.json')]
  const main = await bundleMain()
  writeFileSync(config, JSON.stringify({ main, output, disableExperimentalSEAWarning: true, assets: packProgram() }))
  runNode('--experimental-sea-config', config)
  return output
}

/** Runs a tool without its warnings, which do not matter. If it fails, the error contains its output. */
function runNode(...args: readonly string[]): void {
  execFileSync(process.execPath, args, { stdio: 'pipe' })
}

/** Bundles the start into one file of CommonJS, as an executable needs it. */
async function bundleMain(): Promise<string> {
  await viteBuild({
    build: {
      ssr: join(ROOT, 'src/executable/main.ts'),
      outDir: join(aside, 'main'),
      emptyOutDir: true,
      target: 'node24',
      rolldownOptions: { output: { format: 'cjs', entryFileNames: 'main.cjs' } },
    },
  })
  return join(aside, 'main', 'main.cjs')
}

/** Packs all of `dist/` into one compressed file, with a list of its content. */
function packProgram(): Readonly<Record<string, string>> {
  const dist = join(ROOT, 'dist')
  const paths = readdirSync(dist, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(dist.length + 1))
    .sort()
  const contents = [
    ...paths.map((path) => ({ path, bytes: readFileSync(join(dist, path)) })),
    // The package for Windows does not contain the licence.
    { path: 'LICENSE-NODE', bytes: readFileSync(join(folderOfNode(`linux-${process.arch}`), 'LICENSE')) },
  ]
  const files: readonly PackedFile[] = contents.map(({ path, bytes }) => [path.replaceAll('\\', '/'), bytes.length])
  const whole = Buffer.concat(contents.map(({ bytes }) => bytes))
  const hash = createHash('sha256').update(JSON.stringify(files)).update(whole).digest('hex').slice(0, HASH_SHOWN)
  const assets = { 'program.json': join(aside, 'program.json'), 'program.br': join(aside, 'program.br') }
  writeFileSync(assets['program.json'], JSON.stringify({ name: `${packageFile.version}-${hash}`, files }))
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
  }
  writeFileSync(assets['program.br'], brotliCompressSync(whole, { params }))
  return assets
}

/** The folder of Node's package: the one that is installed here or, for another system, from the registry. */
function folderOfNode(system: string): string {
  const name = `node-${system}`
  const version = NODES[name]
  if (version === undefined)
    throw new Error(`There is no Node for ${system}: name ${Object.keys(NODES).join(' or ').replaceAll('node-', '')}.`)
  if (version !== process.versions.node)
    throw new Error(
      `Node ${version} goes into the executable, and this is ${process.versions.node}: use npm run build:executable.`,
    )
  const installed = join(ROOT, 'node_modules', name)
  return existsSync(installed) ? installed : fetchPackage(name, version)
}

/** Fetches exactly the package that the lock file names. */
function fetchPackage(name: string, version: string): string {
  const folder = join(aside, name)
  if (existsSync(folder)) return folder
  const pack = ['pack', `${name}@${version}`, '--json', '--pack-destination', aside]
  const [packed] = JSON.parse(execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' })) as readonly {
    readonly filename: string
    readonly integrity: string
  }[]
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string }>>
  }
  if (!packed || packed.integrity !== lock.packages[`node_modules/${name}`]?.integrity)
    throw new Error(`The registry has another ${name} ${version} than package-lock.json names.`)
  mkdirSync(folder)
  execFileSync('tar', ['-xzf', join(aside, packed.filename), '-C', folder, '--strip-components=1'])
  return folder
}
