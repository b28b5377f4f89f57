import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { Stop, timed } from './report.mjs'

const TIERS = ['e2e', 'faults', 'scale', 'harness', 'simulator']
const CARRIED = ['package.json', 'package-lock.json', 'signal']
// By default npm stays silent for over a minute when the machine is merely offline.
const TIMEOUTS = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
const FLAGS = ['--omit=peer', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', ...TIMEOUTS]
const LIMIT_MS = 180_000
const LOST = 'tests with the library of WhatsApp Web'

/**
 * Installs for tests what `nuncio channel install whatsapp-web` installs. Without it the tests are reported as skipped, and CI
 * fails.
 */
export async function installWhatsAppWeb(root, tier) {
  const source = join(root, 'extras', 'whatsapp-web')
  if (!TIERS.includes(tier) || !existsSync(source)) return
  const folder = join(root, 'node_modules', '.setup', 'whatsapp-web')
  if (isFresh(source, folder)) return
  const isDone = await timed('installing the library of WhatsApp Web', () => install(source, folder))
  if (isDone) return
  const remedy = `run \`npm ci ${FLAGS.join(' ')}\` in ${folder} to see why`
  if (process.env.CI) throw new Stop(`npm could not install the library of WhatsApp Web: ${remedy}.`)
  process.stderr.write(`setup: ${LOST} will be reported as skipped, because npm could not install it: ${remedy}\n`)
}

function isFresh(source, folder) {
  if (!existsSync(join(folder, 'node_modules', '.package-lock.json'))) return false
  return filesIn(source).every((file) => {
    const [wanted, found] = [source, folder].map((place) => join(place, file))
    return existsSync(found) && readFileSync(wanted).equals(readFileSync(found))
  })
}

function filesIn(source) {
  const entries = readdirSync(source, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(source, join(entry.parentPath, entry.name)))
}

function install(source, folder) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of CARRIED) cpSync(join(source, name), join(folder, name), { recursive: true })
  const [program, ...first] =
    process.env.npm_execpath === undefined ? ['npm'] : [process.execPath, process.env.npm_execpath]
  const { status } = spawnSync(program, [...first, 'ci', ...FLAGS], {
    cwd: folder,
    stdio: 'ignore',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  return status === 0
}
