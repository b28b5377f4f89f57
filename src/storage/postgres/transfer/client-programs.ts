import { type ChildProcess, spawn } from 'node:child_process'
import { Refusal } from '../../../core/refusals.ts'

type ProgramName = 'pg_dump' | 'pg_restore' | 'psql'

/** The environment of a child process: that of this process and the added variables. */
export type ChildEnvironment = (added: Readonly<Record<string, string>>) => Record<string, string | undefined>

const INSTALL =
  'Install the client programs of PostgreSQL (on Debian: apt-get install postgresql-client) so that they are found on PATH'
const KEPT_CHARACTERS = 2_000
// Options that both libpq and pg know. libpq refuses a URL with any other option.
const KNOWN_TO_LIBPQ =
  /^(host|port|user|application_name|options|connect_timeout|sslmode|sslcert|sslkey|sslrootcert|sslcrl|channel_binding|target_session_attrs|keepalives\w*)$/

/** The version that a program prints, such as `18.1`. Refuses with `program_missing`. */
export async function programVersion(name: ProgramName, environment: ChildEnvironment): Promise<string> {
  const child = spawn(name, ['--version'], { env: environment({}), stdio: ['ignore', 'pipe', 'ignore'] })
  let said = ''
  child.stdout.on('data', (piece: Buffer) => {
    said += piece.toString('latin1')
  })
  await ended(child, name)
  const version = /\d+(\.\d+)*/.exec(said)?.[0]
  if (version === undefined) throw new Refusal('program_missing', `${name} does not say its version. ${INSTALL}.`)
  return version
}

/** Refuses a program that is older than the data it must read. */
export function refuseOlder(name: ProgramName, version: string, needed: string): void {
  if (majorOf(version) >= majorOf(needed)) return
  throw new Refusal(
    'program_missing',
    `${name} is of version ${version}, and the database of ${needed}: it needs to be as new. ${INSTALL}, of version ${majorOf(needed)} or newer.`,
  )
}

function majorOf(version: string): number {
  return Number.parseInt(version, 10)
}

/**
 * The URL for programs of PostgreSQL, with the password in the environment, because lists of processes show arguments. The
 * TLS mode becomes as strict as the service's: pg checks the certificate in modes in which libpq does not.
 */
export function toLibpqUrl(given: string): { readonly url: string; readonly added: Record<string, string> } {
  const url = new URL(given)
  const password = decodeURIComponent(url.password) || url.searchParams.get('password')
  url.password = ''
  const mode = tlsModeOf(url.searchParams)
  if (mode !== null) url.searchParams.set('sslmode', mode)
  for (const name of [...url.searchParams.keys()]) if (!KNOWN_TO_LIBPQ.test(name)) url.searchParams.delete(name)
  return { url: url.href, added: password ? { PGPASSWORD: password } : {} }
}

/** The mode of libpq that does what pg does for this URL; null without TLS. */
function tlsModeOf(options: URLSearchParams): string | null {
  const mode = options.get('sslmode')
  if (mode === 'disable' || options.get('uselibpqcompat') === 'true') return mode
  if (mode === 'no-verify') return 'require'
  const asks = [mode, ...['sslcert', 'sslkey', 'sslrootcert'].map((name) => options.get(name))].some(Boolean)
  const isOn = ['true', '1'].includes(options.get('ssl') ?? '') || options.get('sslnegotiation') === 'direct'
  return asks || isOn ? 'verify-full' : null
}

/** Collects the end of the error output of a program. */
export function errorOutputOf(child: ChildProcess): () => string {
  let words = ''
  child.stderr?.on('data', (piece: Buffer) => {
    words = (words + piece.toString('utf8')).slice(-KEPT_CHARACTERS)
  })
  return () => words.trim().split('\n').slice(-3).join(' ')
}

/** Its exit code; null when a signal ended it. Refuses with `program_missing` when there is no such program. */
export function ended(child: ChildProcess, name: ProgramName): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.on('error', (cause) => {
      reject(
        new Refusal('program_missing', `${name} is needed for PostgreSQL, and was not found. ${INSTALL}.`, null, {
          cause,
        }),
      )
    })
    child.on('close', (code) => resolve(code))
  })
}

export function failed(name: ProgramName, words: string): Refusal {
  return new Refusal('program_failed', `${name} failed: ${words || 'it was ended by a signal'}`)
}
