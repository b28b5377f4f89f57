import { resolve } from 'node:path'
import type { Parsed, SettingKind } from './setting-kinds.ts'

export type DatabaseChoice =
  | { readonly engine: 'sqlite'; readonly path: string }
  | { readonly engine: 'postgres'; readonly url: string }

const POSTGRES_FORM = 'postgres://user:password@host:port/database'
const SOCKET_FORM = 'postgres://user:password@localhost/database?host=/FOLDER'
const MASK = '********'

/** Null when no URL is given: then the database is in the data folder. */
export const databaseUrl: SettingKind<DatabaseChoice | null> = {
  rule: `sqlite:PATH or ${POSTGRES_FORM}`,
  parse(text) {
    if (isPostgres(text)) {
      const wrong = faultOfPostgresUrl(text)
      return wrong === null ? { value: { engine: 'postgres', url: text } } : { wrong }
    }
    const path = /^sqlite:(?:\/\/(?=\/))?(.+)$/i.exec(text)?.[1]
    // A database in memory would lose accepted messages with the process (G1).
    if (!path || path.includes('\0') || path.includes(':memory:')) {
      return { wrong: `it must be sqlite:PATH with the path of a file, or ${POSTGRES_FORM}.` }
    }
    return { value: { engine: 'sqlite', path: resolve(path) } }
  },
  show: withoutPassword,
}

/** Another URL of the PostgreSQL database; null when none is given. */
export const postgresUrl: SettingKind<string | null> = {
  rule: POSTGRES_FORM,
  parse(text): Parsed<string | null> {
    const wrong = isPostgres(text) ? faultOfPostgresUrl(text) : `it must be ${POSTGRES_FORM}.`
    return wrong === null ? { value: text } : { wrong }
  },
  show: withoutPassword,
}

/** Where the database is, in words for people: never a user name or a password. */
export function describeDatabase(database: DatabaseChoice): string {
  if (database.engine === 'sqlite') return `SQLite, ${database.path}`
  const { host, pathname, searchParams } = new URL(database.url)
  return `PostgreSQL, ${searchParams.get('host') || host}${decodeURIComponent(pathname)}`
}

/** A warning for every start, or null. libpq checks less for these modes than the library with which we connect. */
export function warnOfTlsMode(url: string): string | null {
  const options = new URL(url).searchParams
  const mode = options.get('sslmode') ?? ''
  if (options.get('uselibpqcompat') === 'true' || !['prefer', 'require', 'verify-ca'].includes(mode)) return null
  return `sslmode=${mode} in the URL of the database checks the certificate of the server, as verify-full does. Write sslmode=verify-full.`
}

function isPostgres(text: string): boolean {
  return /^postgres(ql)?:/i.test(text)
}

/**
 * The problem, as the end of a sentence that must not repeat any of the URL. A `/`, `?` or `#` in a password ends the host
 * too early, so the parsed database or options may be half of a password.
 */
function faultOfPostgresUrl(text: string): string | null {
  const url = URL.canParse(text) ? new URL(text) : null
  const unescaped =
    'a sign in its user name or password has a meaning in URLs: write / as %2F, ? as %3F, # as %23, @ as %40 and % as %25.'
  const [, beforeHost = ''] = /^[^:]+:\/\/([^@]*)@/.exec(text) ?? []
  if (/[/?#]/.test(beforeHost) || text.includes('#') || text.split('@').length > 2) return unescaped
  if (!url || !/^postgres(ql)?:\/\//i.test(text))
    return /[?&]host=/.test(text)
      ? `a Unix socket is named as ${SOCKET_FORM}, or without a password as postgres:///database?host=/FOLDER.`
      : `it must be ${POSTGRES_FORM}.`
  if (![url.username, url.password, url.pathname].every(isDecodable)) return unescaped
  if (!url.hostname && !url.searchParams.get('host')) return `it names no host: it must be ${POSTGRES_FORM}.`
  if (url.hostname.includes(',')) return 'it names several hosts: name one, or an address that leads to the primary.'
  if (!/^\/[^/]+$/.test(url.pathname)) return `it names no database: it must be ${POSTGRES_FORM}.`
  return null
}

function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** In an invalid URL the end of the password is unknown, so nothing of it is shown. */
function withoutPassword(text: string): string {
  if (!isPostgres(text)) return /^sqlite:/i.test(text) || !/[@:]/.test(text) ? text : MASK
  if (faultOfPostgresUrl(text) !== null) return `postgres://${MASK}`
  const url = new URL(text)
  const user = url.username === '' ? '' : `${url.username}${url.password === '' ? '' : `:${MASK}`}@`
  const options = [...url.searchParams].map(([name, value]) => `${name}=${isSecretOption(name) ? MASK : value}`)
  return `${url.protocol}//${user}${url.host}${url.pathname}${options.length === 0 ? '' : `?${options.join('&')}`}`
}

function isSecretOption(name: string): boolean {
  return /pass|secret|key/i.test(name)
}
