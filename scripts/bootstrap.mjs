// Makes a fresh clone ready, before every npm script. Silent when there is nothing to do. Plain JavaScript without packages: it
// runs on any Node, before anything is installed. It writes only to stderr, because the stdout of `npm run -s nuncio -- …`
// belongs to the reader's own programs.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isNodeTooOld, OLDEST_NODE } from '../src/server/oldest-node.js'
import { fetchBenchPeers } from './bootstrap/bench-peers.mjs'
import { consolePlan } from './bootstrap/console-build.mjs'
import { installDebianPackages } from './bootstrap/debian-packages.mjs'
import { distPlan } from './bootstrap/dist-build.mjs'
import { docsPlan } from './bootstrap/docs-build.mjs'
import { buildWhenStale } from './bootstrap/fresh-build.mjs'
import { takeLock } from './bootstrap/lock.mjs'
import { installFromLock } from './bootstrap/npm-ci.mjs'
import { announcePostgresThatCannotRun, linkPostgresLibraries } from './bootstrap/postgres-binaries.mjs'
import { Stop, stopBecauseOf, timed } from './bootstrap/report.mjs'
import { installWhatsAppWeb } from './bootstrap/whatsapp-web.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const packageLock = join(root, 'package-lock.json')
const stamp = join(root, 'node_modules', '.setup', 'packages')
// Building and running need less than tests and checks do. A start should not wait for the rest.
const isForService = process.argv.includes('--service')
const packagedNode = join(root, 'node_modules', '.bin', process.platform === 'win32' ? 'node.cmd' : 'node')

try {
  await installPackages()
  requireNode()
  standInForExec()
  const tests = process.argv.find((argument) => argument.startsWith('--tests='))?.slice('--tests='.length)
  const isBuilt = process.argv.includes('--build') || tests
  if (process.argv.includes('--console') || isBuilt) {
    const node = existsSync(packagedNode) ? packagedNode : process.execPath
    await buildWhenStale(root, node, [consolePlan(root), docsPlan(root)])
    if (isBuilt) await buildWhenStale(root, node, [distPlan(root)])
  }
  if (tests) {
    await installDebianPackages(tests)
    await installWhatsAppWeb(root, tests)
    announcePostgresThatCannotRun(root)
  }
  if (process.argv.includes('--simulator')) await installWhatsAppWeb(root, 'simulator')
  if (process.argv.includes('--peers')) await fetchBenchPeers(root)
} catch (error) {
  if (!(error instanceof Stop)) throw error
  process.stderr.write(`setup: ${error.message}\n`)
  process.exitCode = 1
}

async function installPackages() {
  if (isFresh()) return
  requireObtainableNode()
  const lock = await takeLock(join(root, '.setup-lock'))
  try {
    // Another start may have done the work while this one waited for the lock.
    if (isFresh()) return
    const isAddedTo = isStamped('service')
    removeStamp()
    await timed('installing packages', () => installFromLock(root, lock, { isForService, isAddedTo }))
    setAsideUnusableNode()
    requireNode()
    linkPostgresLibraries(root)
    writeStamp()
  } finally {
    lock.release()
  }
}

// `npm start` runs `exec node …`: with a shell in between, a signal to npm would end the shell and leave the service running.
// Windows has no `exec`, so this replaces it there.
function standInForExec() {
  if (process.platform !== 'win32') return
  const file = join(root, 'node_modules', '.bin', 'exec.cmd')
  if (!existsSync(file)) writeFileSync(file, '@%*\r\n')
}

function isFresh() {
  if (!existsSync(packageLock)) throw new Stop('package-lock.json is missing: take it back from git.')
  return isStamped('all') || (isForService && isStamped('service'))
}

function isStamped(extent) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(extent)
}

function fingerprint(extent) {
  const lockFile = readFileSync(packageLock)
  // The system counts too: a folder shared with a container or another machine holds the wrong binaries there.
  return `${createHash('sha256').update(lockFile).digest('hex')} ${process.platform} ${process.arch} ${extent}\n`
}

// The stamp is removed first and written last, so that an interrupted installation never counts as complete.
function removeStamp() {
  try {
    rmSync(stamp, { force: true })
  } catch (error) {
    throw stopBecauseOf(error, root)
  }
}

function writeStamp() {
  try {
    mkdirSync(dirname(stamp), { recursive: true })
    writeFileSync(stamp, fingerprint(isForService ? 'service' : 'all'))
  } catch (error) {
    throw stopBecauseOf(error, root)
  }
}

/** Stops before a useless download of some hundred megabytes. */
function requireObtainableNode() {
  if (!isNodePackaged()) requireNode()
}

function requireNode() {
  if (existsSync(packagedNode) || !isNodeTooOld()) return
  throw new Stop(
    `this needs Node ${OLDEST_NODE} or newer and found ${process.version}; npm has none that runs on this system, so install it and start again.`,
  )
}

function isNodePackaged() {
  const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const system = process.platform === 'win32' ? 'win' : process.platform
  return `node-${system}-${process.arch}` in optionalDependencies
}

// npm puts the packaged Node before the system's. If it cannot run (Alpine's musl, an old glibc), every later script would fail
// with a bare "not found", even though the system's own Node may work well.
function setAsideUnusableNode() {
  if (!existsSync(packagedNode)) return
  const { status } = spawnSync(packagedNode, ['--version'], { stdio: 'ignore', shell: process.platform === 'win32' })
  if (status !== 0) rmSync(packagedNode)
}
