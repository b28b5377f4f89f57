import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { takeLock } from './lock.mjs'
import { Stop, stopBecauseOf, timed } from './report.mjs'

// The whole build takes some seconds. A build that hangs must not delay a start for ever.
const LIMIT_MS = 300_000
const OUTPUT_SHOWN = 2_000

/**
 * Builds the folders of these plans that are missing or out of date, in parallel.
 *
 * A plan: `name` of its stamp, `title` for people, `dist` and a file that every `dist` has, `sources` (files
 * and folders that it is made from), `command` (of Node; `ASIDE` stands for the folder to write to), and the `npmScript`
 * that shows all of its output.
 */
export async function buildWhenStale(root, node, plans) {
  const findStale = () => plans.filter((plan) => existsSync(join(root, dirname(plan.dist))) && !isFresh(root, plan))
  if (findStale().length === 0) return
  const lock = await takeLock(join(root, '.setup-lock'))
  try {
    // Another start may have done the work while this one waited for the lock.
    const stale = findStale()
    if (stale.length === 0) return
    const titles = stale.map(({ title }) => title).join(' and ')
    await timed(`building ${titles}`, () => buildAll(root, node, stale))
  } catch (error) {
    throw stopBecauseOf(error, root)
  } finally {
    lock.release()
  }
}

// Waits for all of them before the lock is released.
async function buildAll(root, node, plans) {
  const ended = await Promise.allSettled(plans.map((plan) => build(root, node, plan)))
  const failed = ended.find(({ status }) => status === 'rejected')
  if (failed) throw failed.reason
}

// Builds in a second folder, and moves it into place when it is complete. A service that runs meanwhile goes on showing the old
// files, and an interrupted build leaves nothing that could be mistaken for a complete one.
async function build(root, node, plan) {
  // Taken before the build, so that a change during the build makes the result out of date.
  const fingerprint = fingerprintOf(root, plan)
  const aside = join(root, 'node_modules', '.setup', `${plan.name}-dist`)
  const dist = join(root, plan.dist)
  const command = plan.command.map((word) => (word === 'ASIDE' ? aside : word))
  const options = {
    cwd: root,
    timeout: LIMIT_MS,
    shell: process.platform === 'win32',
    env: { ...process.env, NODE_ENV: 'production' },
  }
  await promisify(execFile)(node, command, options).catch(({ stdout, stderr }) => {
    const end = `${stdout ?? ''}${stderr ?? ''}`.trim().slice(-OUTPUT_SHOWN)
    throw new Stop(`${plan.title} could not be built; \`npm run ${plan.npmScript}\` shows all of it.\n${end}`)
  })
  rmSync(stampOf(root, plan), { force: true })
  rmSync(dist, { recursive: true, force: true })
  renameSync(aside, dist)
  mkdirSync(dirname(stampOf(root, plan)), { recursive: true })
  writeFileSync(stampOf(root, plan), fingerprint)
}

function isFresh(root, plan) {
  const isThere = existsSync(join(root, plan.dist, plan.always)) && existsSync(stampOf(root, plan))
  return isThere && readFileSync(stampOf(root, plan), 'utf8') === fingerprintOf(root, plan)
}

function stampOf(root, { name }) {
  return join(root, 'node_modules', '.setup', name)
}

/** The fingerprint of all sources and packages of a build. */
function fingerprintOf(root, { sources, dist }) {
  const hash = createHash('sha256')
  const built = join(root, dist)
  const files = sources
    .flatMap((source) => filesIn(join(root, source)))
    .filter((file) => !file.startsWith(built))
    .sort()
  for (const file of [...files, join(root, 'package-lock.json')]) {
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  }
  return `${hash.digest('hex')}\n`
}

function filesIn(path) {
  if (!existsSync(path)) return []
  if (statSync(path).isFile()) return [path]
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
