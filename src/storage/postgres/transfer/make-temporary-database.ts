import { randomBytes } from 'node:crypto'
import { escapeIdentifier } from 'pg'
import { Refusal } from '../../../core/refusals.ts'
import { connect } from '../connection/open-database.ts'
import { translateStatementError } from '../connection/postgres-errors.ts'

const RIGHT_MISSING = '42501'

/** An empty database beside another one, on the same server. */
interface TemporaryDatabase {
  readonly name: string
  /** Ends all of its connections. */
  readonly drop: () => Promise<void>
}

/** Refuses with `database_unavailable` when the role of this URL may not make one, and says how to grant that. */
export async function makeTemporaryDatabase(url: string, start: string): Promise<TemporaryDatabase> {
  const name = `${start}${randomBytes(6).toString('hex')}`
  const quoted = escapeIdentifier(name)
  try {
    await run(url, `create database ${quoted} encoding 'UTF8' template template0`)
  } catch (error) {
    const cause = error instanceof Error ? error.cause : null
    const code = [error, cause].map((one) => (one instanceof Error && 'code' in one ? one.code : null))
    if (!code.includes(RIGHT_MISSING)) throw error
    const user = decodeURIComponent(new URL(url).username)
    throw new Refusal(
      'database_unavailable',
      `The user “${user}” may not make a database for the test. Let it for a while: alter role ${escapeIdentifier(user)} createdb; and afterwards: alter role ${escapeIdentifier(user)} nocreatedb`,
      null,
      { cause: error },
    )
  }
  return { name, drop: () => run(url, `drop database if exists ${quoted} with (force)`) }
}

/** The same server and user, another database. */
export function withDatabase(url: string, name: string): string {
  const other = new URL(url)
  other.pathname = `/${encodeURIComponent(name)}`
  return other.href
}

async function run(url: string, sql: string): Promise<void> {
  const client = await connect(url)
  try {
    await client.query(sql)
  } catch (error) {
    throw translateStatementError(error, url)
  } finally {
    await client.end().catch(() => {})
  }
}
