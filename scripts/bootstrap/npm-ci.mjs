import { spawn } from 'node:child_process'
import { readFileSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { Stop, stopBecauseOf } from './report.mjs'

const WHAT_NPM_MEANS = [
  {
    codes: ['ENOTFOUND', 'EAI_AGAIN', 'ECONNREFUSED', 'ECONNRESET', 'ETIMEDOUT', 'ENETUNREACH', 'EHOSTUNREACH'],
    say: 'the npm registry cannot be reached: check the network or the proxy and start again.',
  },
  { codes: ['ERR_SOCKET_TIMEOUT', 'FETCH_ERROR'], say: 'the npm registry stopped answering: start again.' },
  {
    codes: ['EUSAGE'],
    say: 'package.json and package-lock.json do not agree: run `npm install` and commit the lock file.',
  },
  { codes: ['EJSONPARSE'], say: 'package.json or package-lock.json is not valid JSON: fix it and start again.' },
  {
    codes: ['E404', 'ETARGET'],
    say: 'the npm registry lacks a package that package-lock.json names: use a registry that has it.',
  },
  { codes: ['E401', 'E403'], say: 'the npm registry refuses to serve us: log in to it and start again.' },
  {
    codes: ['EINTEGRITY'],
    say: 'a downloaded package is not the one that package-lock.json names: run `npm cache clean --force` and start again.',
  },
]

// Less free room than this after an installation means that the installation has filled the disk.
const FULL_DISK_BYTES = 1_000_000

/**
 * Installs exactly what package-lock.json names. For a service it leaves out the workspace of the tests; if the same lock file
 * was installed for a service before, it adds only that. npm's own output is shown only if we cannot explain the failure.
 */
export async function installFromLock(root, lock, { isForService, isAddedTo }) {
  const { command, args, shell } = npm()
  // Without dev dependencies (NODE_ENV=production) the tests would find a stamp and no tools. With them, the same stamp is true
  // for every script.
  const flags = ['--include=dev', '--include=optional', '--prefer-offline', '--no-audit', '--no-fund']
  if (isForService) flags.push('--workspaces=false')
  // `npm ci` would remove the packages of a service that is running.
  const verb = isAddedTo ? ['install', '--no-save'] : ['ci']
  // By default npm stays silent for over a minute when the machine is merely offline.
  const timeouts = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
  const child = spawn(command, [...args, ...verb, ...flags, ...timeouts, '--loglevel=error'], {
    cwd: root,
    shell,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (child.pid) lock.include(child.pid)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const exitCode = await new Promise((resolve, reject) => {
    child.on('error', reject).on('close', resolve)
  }).catch((error) => {
    throw error.code === 'ENOENT' ? new Stop('npm was not found: install it beside Node and start again.') : error
  })
  if (exitCode !== 0) throw explain(output, root)
  refuseHalfInstalled(root)
}

// npm treats packages that differ between systems (the compiler, the linters, Node itself) as optional. If such a package cannot
// be fetched, npm leaves it out; if the disk is full, it writes empty files. Each time it reports success.
function refuseHalfInstalled(root) {
  const { bavail, bsize } = statfsSync(root)
  if (bavail * bsize < FULL_DISK_BYTES) throw stopBecauseOf({ code: 'ENOSPC' }, root)
  const wanted = packagesIn(join(root, 'package-lock.json'))
  // npm writes this list at the very end, with what it has really installed.
  const installed = packagesIn(join(root, 'node_modules', '.package-lock.json'))
  const users = [wanted[''], ...Object.keys(installed).map((path) => wanted[path])]
  const isUsed = (name) => users.some((user) => user?.optionalDependencies?.[name])
  const [first, ...others] = Object.keys(wanted).filter(
    (path) => isForThisSystem(wanted[path]) && !installed[path] && isUsed(path.replace(/^.*node_modules\//, '')),
  )
  if (!first) return
  const names = `${first.replace(/^.*node_modules\//, '')}${others.length > 0 ? ` and ${others.length} more` : ''}`
  throw new Stop(`npm left out ${names}: check whether the network works and the disk has room, and start again.`)
}

function packagesIn(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages
  } catch {
    return {}
  }
}

function isForThisSystem({ os, cpu, libc }) {
  if (!os || !cpu) return false
  const ownLibc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl'
  return (
    [os].flat().includes(process.platform) && [cpu].flat().includes(process.arch) && (libc?.includes(ownLibc) ?? true)
  )
}

// npm itself runs on the Node that it was installed with, because the packaged one is about to be replaced.
function npm() {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  // Yarn and pnpm set the same variable to their own paths.
  if (cli?.endsWith('npm-cli.js')) return { command: node ?? process.execPath, args: [cli], shell: false }
  return process.platform === 'win32'
    ? { command: 'npm.cmd', args: [], shell: true }
    : { command: 'npm', args: [], shell: false }
}

function explain(output, root) {
  const code = /npm (?:error|ERR!) code (\S+)/.exec(output)?.[1] ?? ''
  const known = WHAT_NPM_MEANS.find(({ codes }) => codes.includes(code))
  if (known) return new Stop(known.say)
  const refused = stopBecauseOf({ code }, root)
  if (refused instanceof Stop) return refused
  const own = output.split('\n').find((line) => /^npm (?:error|ERR!) (?!code)/.test(line)) ?? output.trim()
  return new Stop(`npm could not install the packages; run \`npm ci\` to see all it says. It began with: ${own}`)
}
