import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { surroundingEnvironment } from '../config/surrounding-environment.ts'
import { Refusal } from '../core/refusals.ts'

// Optional peers are left out, and nothing that a package brings is run while it is installed.
const FLAGS = ['--omit=peer', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
// By default npm stays silent for over a minute when the machine is offline.
const TIMEOUTS = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']
const LIMIT_MS = 600_000

const WHAT_NPM_MEANS: readonly { readonly codes: RegExp; readonly sentence: string }[] = [
  {
    codes: /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)$/,
    sentence:
      'The npm registry cannot be reached. Check the network or the proxy, or install on another machine and use --offline.',
  },
  {
    codes: /^(E404|ETARGET)$/,
    sentence: 'The npm registry lacks one of the packages. Use a registry that has it.',
  },
  { codes: /^(E401|E403)$/, sentence: 'The npm registry refuses to serve this user. Log in to it and try again.' },
  {
    codes: /^EINTEGRITY$/,
    sentence: 'A downloaded package is not the one that this Nuncio names, so none was installed.',
  },
  { codes: /^ENOSPC$/, sentence: 'There is no room left on the disk. Make room and try again.' },
]

/** Installs exactly what package-lock.json of the folder names. */
export async function installWithNpm(folder: string): Promise<void> {
  const isWindows = process.platform === 'win32'
  const child = spawn(isWindows ? 'npm.cmd' : 'npm', ['ci', ...FLAGS, ...TIMEOUTS], {
    cwd: folder,
    env: surroundingEnvironment(),
    shell: isWindows,
    stdio: ['ignore', 'pipe', 'pipe'],
    // Not `timeout`: its timer would keep this process alive where there is no npm to end.
    signal: AbortSignal.timeout(LIMIT_MS),
    killSignal: 'SIGKILL',
  })
  const ended = new Promise<number | null>((resolve, reject) => child.on('error', reject).on('close', resolve))
  const [exitCode, ...outputs] = await Promise.all([ended, text(child.stdout), text(child.stderr)]).catch(
    (error: unknown) => {
      throw refusalOf(error) ?? error
    },
  )
  if (exitCode !== 0) throw new Refusal('program_failed', explain(outputs.join('')))
}

/** The refusal when npm could not be started, or did not end. */
function refusalOf(error: unknown): Refusal | null {
  const code = error instanceof Error && 'code' in error ? error.code : null
  if (code === 'ENOENT')
    return new Refusal(
      'program_missing',
      'npm was not found. Install it, or install on another machine and use --offline.',
    )
  if (code !== 'ABORT_ERR') return null
  return new Refusal('program_failed', 'npm did not end within ten minutes. Check the network and try again.')
}

function explain(output: string): string {
  const code = /npm (?:error|ERR!) code (\S+)/.exec(output)?.[1] ?? ''
  const known = WHAT_NPM_MEANS.find(({ codes }) => codes.test(code))
  if (known) return known.sentence
  const first = output.split('\n').find((line) => /^npm (?:error|ERR!) (?!code)/.test(line)) ?? output.trim()
  return `npm could not install the packages. It says: ${first.slice(0, 300)}`
}
