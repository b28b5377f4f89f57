import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { installWhatIsMissing } from './debian-packages.mjs'
import { timed } from './report.mjs'

const DEBIAN = { kannel: 'Kannel', 'redis-server': 'BullMQ' }
// Versions that were tried. They are no dependencies of ours: npm cannot install them from every registry.
const BULLMQ = ['bullmq@6.7.0', 'ioredis@6.0.0']
const LIMIT_MS = 180_000

/** Installs what the bench compares with. Never fails: the bench leaves out what is missing, and its results say so. */
export async function fetchBenchPeers(root) {
  await installWhatIsMissing(DEBIAN, (lost) => `the bench will leave out ${lost}`)
  const folder = join(root, 'node_modules', '.setup', 'bullmq')
  if (process.env.NUNCIO_BENCH_BULLMQ !== undefined || existsSync(join(folder, 'node_modules', 'bullmq'))) return
  mkdirSync(folder, { recursive: true })
  const isThere = await timed('installing BullMQ for the bench', () => npmInstall(folder))
  if (!isThere) process.stderr.write('setup: the bench will leave out BullMQ, because npm could not install it\n')
}

function npmInstall(folder) {
  // Without install scripts: they only build optional parts, and we have allowed none of them.
  const flags = ['--prefix', folder, '--no-save', '--no-audit', '--ignore-scripts']
  const npm = process.env.npm_execpath === undefined ? ['npm'] : [process.execPath, process.env.npm_execpath]
  const [program, ...first] = npm
  const { status } = spawnSync(program, [...first, 'install', ...flags, ...BULLMQ], {
    stdio: 'ignore',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  return status === 0
}
