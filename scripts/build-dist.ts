import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { Plugin } from 'vite'
import packageFile from '../package.json' with { type: 'json' }
import { OLDEST_NODE } from '../src/server/oldest-node.js'
import { readSbom } from './print-sbom.ts'
import { ROOT } from './source-tree.ts'
import { viteBuild } from './vite-build.ts'

/**
 * `node scripts/build-dist.ts --out FOLDER`: collects everything that a service needs except Node in one folder. The folder has
 * the layout of a clone, so that the program finds its files. The console and the documents must be built before.
 */
const { values } = parseArgs({ options: { out: { type: 'string', default: join(ROOT, 'dist') } } })
const { out } = values

const LICENCES_OF_SERVER = 'licences.md'
const LICENCES_OF_CONSOLE = 'console/dist/licences.md'

rmSync(out, { recursive: true, force: true })
await bundle()
copyFileSync(join(ROOT, 'deploy/npm/README.md'), join(out, 'README.md'))
const READ_BY_PATH = globSync(
  ['src/storage/*/{schema.sql,functions/*,migrations/*}', 'extras/*/{package.json,package-lock.json,signal/**/*.*}'],
  { cwd: ROOT, exclude: ['**/node_modules'] },
)
for (const file of ['LICENSE', ...READ_BY_PATH]) {
  mkdirSync(dirname(join(out, file)), { recursive: true })
  copyFileSync(join(ROOT, file), join(out, file))
}
for (const folder of ['adapters', 'console/dist', 'site/dist'])
  cpSync(join(ROOT, folder), join(out, folder), { recursive: true, preserveTimestamps: true })
writeLicences()
writeFileSync(join(out, 'sbom.json'), `${JSON.stringify(readSbom(), null, 2)}\n`)
writeFileSync(join(out, 'package.json'), `${JSON.stringify(packageOfBuild(), null, 2)}\n`)

/**
 * Bundles the server and the command line with their packages. The code is not minified, so that it can be read where it runs.
 */
async function bundle(): Promise<void> {
  await viteBuild({
    ssr: { noExternal: true },
    plugins: [requireNodeHttp()],
    build: {
      ssr: true,
      outDir: join(out, 'src'),
      target: 'node24',
      sourcemap: true,
      license: { fileName: LICENCES_OF_SERVER },
      rolldownOptions: {
        input: {
          nuncio: join(ROOT, 'src/cli/main.ts'),
          'console-thread-main': join(ROOT, 'src/storage/sqlite/console-thread/console-thread-main.ts'),
          'whatsapp-web-thread': join(ROOT, 'src/channels/whatsapp-web/thread/whatsapp-web-thread.ts'),
        },
        output: {
          entryFileNames: '[name].js',
          chunkFileNames: '[name]-[hash].js',
          // The maps give the line numbers. The sources themselves are in the repository.
          sourcemapExcludeSources: true,
          sourcemapPathTransform: (source, map) => relative(ROOT, resolve(dirname(map), source)),
        },
      },
    },
  })
}

/**
 * An `import` of node:http also loads Node's own copy of undici, for its WebSocket. That costs some MB and a twentieth of the
 * start.
 */
function requireNodeHttp(): Plugin {
  const id = '\0require-node-http'
  return {
    name: 'require-node-http',
    enforce: 'pre',
    resolveId: (source) => (source === 'node:http' ? id : null),
    load: (loaded) => (loaded === id ? `module.exports = process.getBuiltinModule('node:http')` : null),
  }
}

function writeLicences(): void {
  const parts = [join(out, 'src', LICENCES_OF_SERVER), join(out, LICENCES_OF_CONSOLE)]
  writeFileSync(join(out, 'THIRD-PARTY-LICENSES.md'), parts.map((file) => readFileSync(file, 'utf8')).join('\n'))
  for (const file of parts) rmSync(file)
}

function packageOfBuild() {
  const { name, version, description, license } = packageFile
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin: { nuncio: 'src/nuncio.js' },
    engines: { node: `>=${OLDEST_NODE}` },
  }
}
