import { userInfo } from 'node:os'
import { type ClientConfig, defaults, types } from 'pg'

const BIGINT_OID = 20
// pg reads these modes as verify-full and complains of each at every connection. The settings say so once.
const READ_AS_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/
const CONNECT_WITHIN_MS = 5_000

// A URL over a Unix socket often names no user: then it is the one of this process, as for PostgreSQL's own programs. pg reads
// a name only from the environment, where services and containers have none.
defaults.user = ownUser() ?? defaults.user

/** Sequences and times are whole numbers below 2^53. */
const TYPES = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    return oid === BIGINT_OID ? Number : (types.getTypeParser(oid, format ?? 'text') as (value: string) => unknown)
  },
}

/** How each connection to the database of a URL is made; `name` is what the server's own lists show. */
export function clientConfig(url: string, name: string) {
  return {
    connectionString: /[?&]uselibpqcompat=true/.test(url) ? url : url.replace(READ_AS_FULL, '$1verify-full'),
    application_name: name,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    keepAlive: true,
    types: TYPES,
  } satisfies ClientConfig
}

/** Null where the number of this user has no name, as in many containers. */
function ownUser(): string | null {
  try {
    return userInfo().username
  } catch {
    return null
  }
}
