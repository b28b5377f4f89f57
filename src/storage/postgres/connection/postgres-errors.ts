import { DatabaseError } from 'pg'
import { Refusal } from '../../../core/refusals.ts'

/**
 * What an error says about what was asked.
 *
 * - `connect`: there was no connection, so no statement was sent.
 * - `unknown`: the result of the commit is unknown.
 *
 * With all others, nothing was written:
 *
 * - `contended`: another transaction held a lock for too long, or both waited for each other. The same may succeed now.
 * - `full`: the server is out of room, memory or connections.
 * - `used-up`: the server has no numbers for transactions left until it has been vacuumed.
 * - `read-only`: a standby, or a server that is set to read only.
 * - `unverified`: the connection leads to another server than before, which was not verified yet.
 * - `denied`: the role lacks a right that it had, or will be given.
 * - `not-there`: a table, a column or a function. Statements of ours are right for the tables that they were written for, so these
 *   have changed since: a migration of a newer version has come between, perhaps while the statement waited for a lock.
 * - `damaged`: the server could not read or write what the statement touched. It may be a single page or a single long value, so that
 *   the same succeeds for all else.
 * - `data`: a value that does not fit, or a statement that is wrong. The same will fail again.
 * - `not-written`: anything else.
 */
export type Kind =
  | 'not-written'
  | 'unknown'
  | 'full'
  | 'used-up'
  | 'contended'
  | 'read-only'
  | 'unverified'
  | 'denied'
  | 'not-there'
  | 'damaged'
  | 'data'
  | 'connect'

// https://www.postgresql.org/docs/current/errcodes-appendix.html. A code of five signs goes before its class of two.
const KINDS: Readonly<Record<string, Kind>> = {
  '08': 'unknown',
  '08001': 'connect',
  '08004': 'connect',
  '0P': 'connect',
  '28': 'connect',
  '3D': 'connect',
  '57P03': 'connect',
  '57P01': 'unknown',
  '57P02': 'unknown',
  '57P04': 'unknown',
  '57P05': 'unknown',
  '53': 'full',
  '40001': 'contended',
  '40P01': 'contended',
  '55006': 'contended',
  '55P03': 'contended',
  '25006': 'read-only',
  // These two end the connection. At the first the transaction had been given up before the server read on.
  '25P03': 'not-written',
  '25P04': 'unknown',
  '25': 'not-written',
  '57014': 'not-written',
  '0A': 'not-written',
  '26': 'not-written',
  '55': 'not-written',
  '21': 'data',
  '22': 'data',
  '23': 'data',
  '42501': 'denied',
  '42P01': 'not-there',
  '42703': 'not-there',
  '42883': 'not-there',
  '42': 'data',
  '44': 'data',
  '54': 'data',
  P0: 'data',
  // A code of our own: see `require_known_server`.
  NU001: 'unverified',
}

// Where a server finds that its numbers for transactions are used up until it is vacuumed, or soon will be. The codes are those of
// other things too, such as a row too large for its index, and the words are in the server's language.
const NUMBERS_OF_TRANSACTIONS = /^GetNew(TransactionId|MultiXactId)$/

// `internal_error`, `data_corrupted`, `index_corrupted`; and `io_error` with its like.
const DAMAGE = ['XX', '58']

const CERTIFICATE = /CERT|LEAF_SIGNATURE/
// System calls that happen before there is a connection. The same error codes may also break an open one.
const WAY_THERE = ['connect', 'getaddrinfo', 'open']

// pg says it of a connection that has broken since the statement before.
const BROKE_BEFORE = /not queryable$/
// pg says these without a code, and all before it sends anything.
const NOTHING_SENT =
  /not queryable$|^timeout expired$|^timeout exceeded when trying to connect$|due to connection timeout$|^The server does not support SSL|establishing an SSL connection$|^SASL|assword must be a string$/

/** What a statement that failed with this error left behind. `unknown` in doubt. */
export function classify(error: unknown): Kind {
  if (error instanceof DatabaseError) return kindOf(error)
  if (!(error instanceof Error)) return 'unknown'
  const isBefore = isOnTheWay(error) || CERTIFICATE.test(codeOf(error)) || NOTHING_SENT.test(error.message)
  return isBefore ? 'connect' : 'unknown'
}

function kindOf({ code = '', severity, routine = '' }: DatabaseError): Kind {
  if (NUMBERS_OF_TRANSACTIONS.test(routine)) return 'used-up'
  const kind = KINDS[code] ?? KINDS[code.slice(0, 2)]
  if (kind) return kind
  // An ERROR rolls back. Anything worse ends the connection, and may have come after a commit. A server that speaks
  // another language has another word for it: then it counts as the worse.
  if (severity !== 'ERROR') return 'unknown'
  return DAMAGE.includes(code.slice(0, 2)) ? 'damaged' : 'not-written'
}

export interface Notice {
  readonly code?: string | undefined
  readonly routine?: string | undefined
}

/** Whether what the server says beside an answer may mean that the answer does not hold. */
export function castsDoubt({ code = '00000', routine = '' }: Notice): boolean {
  // Class 00 only informs; all others warn. That transaction numbers run out is said with each transaction, long before it happens.
  return !code.startsWith('00') && !NUMBERS_OF_TRANSACTIONS.test(routine)
}

/** Turns what connecting threw into a sentence for the operator, without the password. Refusals pass unchanged. */
export function translateConnectError(error: unknown, url: string): unknown {
  if (error instanceof Refusal || !(error instanceof Error)) return error
  const sentence = sentenceAbout(error, toPlace(url))
  return new Refusal('database_unavailable', sentence, null, { cause: error })
}

interface Place {
  readonly server: string
  readonly host: string
  readonly user: string
  readonly database: string
}

/** Where a URL leads to, in words: never with its password. */
export function describeServer(url: string): string {
  return toPlace(url).server
}

function toPlace(url: string): Place {
  const { hostname, port, username, pathname, searchParams } = new URL(url)
  const host = searchParams.get('host') || hostname.replace(/^\[(.+)\]$/, '$1')
  return {
    host,
    server: `${host}:${port || searchParams.get('port') || '5432'}`,
    user: decodeURIComponent(username) || searchParams.get('user') || 'of this process',
    database: decodeURIComponent(pathname.slice(1)),
  }
}

function sentenceAbout(error: Error, place: Place): string {
  const { server, host } = place
  const code = codeOf(error)
  if (error instanceof DatabaseError) return sentenceOfServer(error, place)
  if (CERTIFICATE.test(code)) {
    return `The certificate of PostgreSQL at ${server} is not trusted (${code || error.message}). Name the authority that signed it with sslrootcert=FILE in the URL.`
  }
  if (/^(ERR_SSL|EPROTO)/.test(code))
    return `PostgreSQL at ${server} and this process agree on no way to speak TLS (${code}).`
  if (/does not support SSL/.test(error.message))
    return `PostgreSQL at ${server} does not speak TLS. Switch it on there, or take sslmode out of the URL.`
  // With methods that hide the password, the client itself finds that there is none.
  if (/password must be a string$/.test(error.message)) return noPassword(server)
  switch (code) {
    case 'ECONNREFUSED':
      return `Nothing listens at ${server}. Start PostgreSQL there, or correct the URL of the database.`
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `The host “${host}” of the database is not known. Correct the URL of the database, or check the name service.`
    case 'ENOENT':
    case 'EACCES':
      if ('syscall' in error && error.syscall === 'open')
        return `A file that the URL of the database names cannot be read: ${error.message}`
      return `There is no socket of PostgreSQL in ${host} that this process may use (${code}). Start PostgreSQL, or correct the URL of the database.`
    default:
  }
  if (/terminated unexpectedly|ECONNRESET/.test(`${error.message} ${code}`))
    return `${server} ended the connection at once. Check whether PostgreSQL listens there, and read its log.`
  return `PostgreSQL at ${server} does not answer (${code || error.message}). Check whether it runs and whether a firewall blocks it.`
}

function noPassword(server: string): string {
  return `PostgreSQL at ${server} asks for a password, and the URL has none.`
}

function sentenceOfServer({ code = '', message }: DatabaseError, { server, user, database }: Place): string {
  if (code === '28P01' && /^empty password/.test(message)) return noPassword(server)
  if (code === '28P01') return `PostgreSQL at ${server} refuses the password of the user “${user}”.`
  if (code.startsWith('28') && /no encryption/.test(message))
    return `PostgreSQL at ${server} lets the user “${user}” in over TLS only, if at all: add sslmode=verify-full to the URL. It says: ${message}`
  if (code.startsWith('28')) return `PostgreSQL at ${server} refuses the user “${user}”: ${message}`
  if (code === '3D000') return `There is no database “${database}” at ${server}. Make it first, such as with createdb.`
  if (code === '42501') return `The user “${user}” may not use the database “${database}” at ${server}: ${message}`
  if (code === '53300')
    return `PostgreSQL at ${server} has no connection left. Raise max_connections there, or let fewer processes use it.`
  if (code === '57P03') return `PostgreSQL at ${server} is starting or stopping. Try again in a moment.`
  return `PostgreSQL at ${server} refuses (${code}): ${message}`
}

/** The sentence for a person whose change or query failed. Errors of our own code pass unchanged. */
export function translateStatementError(error: unknown, url: string): unknown {
  if (error instanceof Refusal) return error
  const cause = { cause: error }
  const unavailable = (sentence: string) => new Refusal('database_unavailable', sentence, null, cause)
  switch (classify(error)) {
    case 'contended':
      return new Refusal('database_busy', undefined, null, cause)
    case 'connect':
      return BROKE_BEFORE.test(textOf(error))
        ? unavailable(`The connection to PostgreSQL at ${describeServer(url)} broke. Nothing was changed: try again.`)
        : translateConnectError(error, url)
    case 'full':
      return unavailable(
        `PostgreSQL at ${describeServer(url)} is out of room (${textOf(error)}). Nothing was changed: make room and try again.`,
      )
    case 'used-up':
      return unavailable(
        `PostgreSQL at ${describeServer(url)} has used up its transactions (${textOf(error)}). Nothing was changed: end what keeps it from vacuuming, run vacuumdb --all --freeze, and try again.`,
      )
    case 'read-only':
      return unavailable(
        `PostgreSQL at ${describeServer(url)} takes no writes: it is a standby or was made one. Nothing was changed: name the primary in the URL.`,
      )
    case 'denied':
      return unavailable(
        `PostgreSQL at ${describeServer(url)} denies its user a right (${textOf(error)}). Nothing was changed: grant it, and try again.`,
      )
    case 'not-there':
      return unavailable(
        `The tables of PostgreSQL at ${describeServer(url)} have changed (${textOf(error)}). Nothing was changed: use the newest version of Nuncio.`,
      )
    case 'not-written':
    case 'damaged':
    case 'unverified':
      return unavailable(`PostgreSQL at ${describeServer(url)} gave up: ${textOf(error)}. Nothing was changed.`)
    case 'unknown':
      return commitUnknown(url, error)
    case 'data':
      return error
  }
}

/** The result of a change is unknown. */
export function commitUnknown(url: string, error: unknown): Refusal {
  return new Refusal(
    'database_unavailable',
    `The connection to PostgreSQL at ${describeServer(url)} broke (${textOf(error)}). If you were changing something, check whether it was done before you do it again.`,
    null,
    { cause: error },
  )
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, '')
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}

function isOnTheWay(error: Error): boolean {
  return error instanceof AggregateError || ('syscall' in error && WAY_THERE.includes(String(error.syscall)))
}
