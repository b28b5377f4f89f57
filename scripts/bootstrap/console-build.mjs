import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { takeLock } from './lock.mjs'
import { Stop, stopBecauseOf, timed } from './report.mjs'

// The whole build takes some seconds. One that hangs must not hold up a start for ever.
const LIMIT_MS = 300_000
const OUTPUT_SHOWN = 2_000

/** Makes console/dist, the files of the web console, unless they are there and nothing has changed since. */
export async function buildConsole(root, node) {
  if (!existsSync(join(root, 'console')) || isFresh(root)) return
  const lock = await takeLock(join(root, '.setup-lock'))
  try {
    // Whoever held the lock before us may have done the work.
    if (isFresh(root)) return
    await timed('building the console', () => build(root, node))
  } catch (error) {
    throw stopBecauseOf(error, root)
  } finally {
    lock.release()
  }
}

// Built aside and put in place when it is whole: a service that runs meanwhile goes on showing the old one, and a
// build cut short leaves nothing behind that looks like one.
function build(root, node) {
  // Taken first: what changes during the build is not in it.
  const fingerprint = fingerprintOf(root)
  const aside = join(root, 'node_modules', '.setup', 'console-dist')
  const dist = join(root, 'console', 'dist')
  const arguments_ = ['build', 'console', '--outDir', aside, '--emptyOutDir', '--logLevel', 'warn']
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const { status, stdout, stderr } = spawnSync(node, [vite, ...arguments_], {
    cwd: root,
    encoding: 'utf8',
    timeout: LIMIT_MS,
    shell: process.platform === 'win32',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  if (status !== 0) {
    const end = `${stdout ?? ''}${stderr ?? ''}`.trim().slice(-OUTPUT_SHOWN)
    throw new Stop(`the console could not be built; \`npm run build:console\` shows all of it.\n${end}`)
  }
  rmSync(stampOf(root), { force: true })
  rmSync(dist, { recursive: true, force: true })
  renameSync(aside, dist)
  mkdirSync(dirname(stampOf(root)), { recursive: true })
  writeFileSync(stampOf(root), fingerprint)
}

function isFresh(root) {
  const isThere = existsSync(join(root, 'console', 'dist', 'index.html')) && existsSync(stampOf(root))
  return isThere && readFileSync(stampOf(root), 'utf8') === fingerprintOf(root)
}

function stampOf(root) {
  return join(root, 'node_modules', '.setup', 'console')
}

/** Of all that the console is made from: its own files, the contract, and the packages. */
function fingerprintOf(root) {
  const hash = createHash('sha256')
  const files = [...filesIn(join(root, 'console')), ...filesIn(join(root, 'src', 'contract'))].sort()
  for (const file of [...files, join(root, 'package-lock.json')]) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  }
  return `${hash.digest('hex')}\n`
}

function filesIn(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !relative(folder, file).startsWith('dist'))
}
