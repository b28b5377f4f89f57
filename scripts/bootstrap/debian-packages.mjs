import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { timed } from './report.mjs'

// Tools of some tests, and the tiers that need them. Each test says in its name why it is skipped when its
// tool is missing.
const PACKAGES = {
  xfsprogs: { for: 'power cuts', in: ['faults'] },
  'fiu-utils': { for: 'full disks and failing writes', in: ['faults'] },
  libfaketime: { for: 'jumping clocks', in: ['faults', 'harness'] },
  pgbouncer: { for: 'a pool in front of PostgreSQL', in: ['test', 'faults', 'harness'] },
  // This includes a server: pg_dump must not be older than its server, and Debian's is older than the server from npm.
  postgresql: { for: 'backups of PostgreSQL', in: ['e2e', 'faults', 'scale'] },
  'php-cli': { for: 'the example in PHP', in: ['e2e'] },
  'php-curl': { for: 'the example in PHP', in: ['e2e'] },
  'golang-go': { for: 'the example in Go', in: ['e2e'] },
  'nginx-light': { for: 'a proxy in front', in: ['e2e', 'packages'] },
  haproxy: { for: 'a proxy in front', in: ['e2e', 'packages'] },
  caddy: { for: 'a proxy in front', in: ['e2e', 'packages'] },
  kannel: { for: 'a real SMS gateway', in: ['e2e'] },
  'kannel-extras': { for: 'a real SMS gateway', in: ['e2e'] },
  podman: { for: 'the container image', in: ['packages'] },
  buildah: { for: 'the container image', in: ['packages'] },
  runc: { for: 'the container image', in: ['packages'] },
  mmdebstrap: { for: 'the container image and the package for Debian', in: ['packages'] },
  lintian: { for: 'the package for Debian', in: ['packages'] },
  chromium: { for: 'the console in a browser', in: ['test', 'e2e', 'pictures'] },
  // Without this font, emoji in messages are boxes.
  'fonts-noto-color-emoji': { for: 'pictures of the console', in: ['pictures'] },
}

// Debian starts a service when it is installed, and at every boot. Tests and benchmarks start their own, so this is prevented.
const NO_SERVICE = ['pgbouncer', 'redis', 'kannel', 'postgresql', 'nginx', 'haproxy', 'caddy'].flatMap((name) => [
  `/etc/init.d/${name}*`,
  `*/systemd/system/${name}*`,
])

// An unreachable mirror must not delay tests that do not need it.
const TIMEOUTS = ['-o', 'Acquire::http::Timeout=15', '-o', 'Acquire::Retries=1', '-o', 'DPkg::Lock::Timeout=60']
const UPDATE_LIMIT_MS = 60_000
const INSTALL_LIMIT_MS = 180_000

/**
 * Installs the packages for one tier of tests, or for `pictures`. Never fails: it reports what cannot be installed and why, and
 * the tests that need it are skipped.
 */
export function installDebianPackages(tier) {
  const needed = Object.entries(PACKAGES).filter(([, { in: tiers }]) => tiers.includes(tier))
  const uses = Object.fromEntries(needed.map(([name, { for: use }]) => [name, use]))
  return installWhatIsMissing(uses, (lost) => `tests with ${lost} will be reported as skipped`)
}

/**
 * Installs the missing ones of these packages, given with their purposes. `costs` says what happens without them. Never fails.
 */
export async function installWhatIsMissing(packages, costs) {
  const missing = Object.keys(packages).filter((name) => !isInstalled(name))
  if (missing.length === 0) return
  const obstacle = await install(missing)
  if (!obstacle) return
  const lost = missing.map((name) => `${packages[name]} (${name})`).join(', ')
  process.stderr.write(`setup: ${costs(lost)}, because ${obstacle}\n`)
}

function isInstalled(name) {
  const { stdout } = spawnSync('dpkg-query', ['--status', name], { encoding: 'utf8' })
  return stdout?.includes('Status: install ok installed') ?? false
}

async function install(names) {
  if (!existsSync('/usr/bin/apt-get')) return 'this is no Debian system.'
  const withoutServices = NO_SERVICE.flatMap((path) => ['-o', `DPkg::Options::=--path-exclude=${path}`])
  const arguments_ = ['install', '-y', '--no-install-recommends', ...withoutServices, ...names]
  const byHand = `apt-get ${arguments_.map((argument) => (argument.includes('*') ? `'${argument}'` : argument)).join(' ')}`
  if (process.getuid() !== 0) {
    return `only root can install them: run \`sudo ${byHand}\` once.`
  }
  const isDone = await timed(`installing ${names.join(', ')}`, () => {
    // The package lists are often recent enough, and updating them takes longer than everything else.
    if (aptGet(arguments_, INSTALL_LIMIT_MS)) return true
    aptGet(['update'], UPDATE_LIMIT_MS)
    return aptGet(arguments_, INSTALL_LIMIT_MS)
  })
  return isDone ? undefined : `apt-get could not install them: run \`${byHand}\` to see why.`
}

function aptGet(arguments_, limitMs) {
  const { status } = spawnSync('apt-get', [...TIMEOUTS, ...arguments_], {
    stdio: 'ignore',
    timeout: limitMs,
    killSignal: 'SIGKILL',
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  })
  return status === 0
}
