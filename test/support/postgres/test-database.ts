import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { inject } from 'vitest'
import { withClient } from './postgres-server.ts'
import type { SharedAccess } from './shared-server.ts'

/** The port at which a worker of the test runner asks for the shared server, and the secret. */
export interface Door {
  readonly port: number
  readonly secret: string
}

/** An empty database for one test, on the server that all tests of the run share. */
export interface TestDatabase {
  readonly name: string
  /** The URL of a superuser. */
  readonly url: string
  /** Disconnects its clients. Dropping twice is harmless. */
  readonly drop: () => Promise<void>
}

export interface Template {
  /** Tests that give the same name share the template. The first of them prepares it for the whole run. */
  readonly name: string
  /** Fills the template, for example with our tables. It must close its connections. */
  readonly prepare: (url: string) => Promise<void>
}

/** Without a template: as PostgreSQL creates it. Without a server this fails, and never skips. */
export async function openTestDatabase(template?: Template): Promise<TestDatabase> {
  const { access, client } = await reachServer()
  const name = `${access.prefix}${randomBytes(8).toString('hex')}`
  const source = template && (await preparedTemplate(client, access, template))
  await client.query(`create database ${quoted(name)}${source ? ` template ${quoted(source)} strategy file_copy` : ''}`)
  return {
    name,
    url: urlOf(access, name),
    drop: async () => {
      const { client } = await reachServer()
      await client.query(`drop database if exists ${quoted(name)} with (force)`)
    },
  }
}

interface ReachedServer {
  readonly access: SharedAccess
  readonly client: pg.Client
}

// Kept for as long as the worker lives: connecting costs as much as copying a database.
let reached: Promise<ReachedServer> | null = null

function reachServer(): Promise<ReachedServer> {
  const forget = () => {
    reached = null
  }
  reached ??= connectToServer(forget).catch((error: unknown) => {
    forget()
    throw error
  })
  return reached
}

async function connectToServer(onLost: () => void): Promise<ReachedServer> {
  const access = await askForServer()
  // The package's types lack `unref`.
  const client = new pg.Client({ connectionString: access.url }) as pg.Client & { unref(): void }
  client.on('error', onLost)
  await client.connect()
  client.unref()
  return { access, client }
}

async function preparedTemplate(client: pg.Client, access: SharedAccess, template: Template): Promise<string> {
  const database = `${access.prefix}template_${template.name}`
  if (!(await isPrepared(client, database)))
    await withClient(access.url, (preparing) => prepareTemplate(preparing, urlOf(access, database), template))
  return database
}

async function prepareTemplate(client: pg.Client, url: string, { prepare }: Template): Promise<void> {
  const database = new URL(url).pathname.slice(1)
  // One worker prepares, the others wait here. Ending the connection frees the lock, whatever happens.
  await client.query('select pg_advisory_lock(hashtextextended($1, 0))', [database])
  if (await isPrepared(client, database)) return
  // A failed preparation may have left one.
  await client.query(`drop database if exists ${quoted(database)} with (force)`)
  await client.query(`create database ${quoted(database)}`)
  await prepare(url)
  // Marked only when it is complete, so that no unfinished template is used. No connections, because they would block copying.
  await client.query(`alter database ${quoted(database)} with is_template true allow_connections false`)
}

async function isPrepared(client: pg.Client, database: string): Promise<boolean> {
  const { rows } = await client.query('select from pg_database where datname = $1 and datistemplate', [database])
  return rows.length > 0
}

async function askForServer(): Promise<SharedAccess> {
  const door = inject('postgresDoor')
  if (!door) throw new Error('The shared server is for tests that run under vitest.config.ts: start a PostgresServer.')
  const socket = connect(door.port, '127.0.0.1')
  socket.write(door.secret)
  const reply = JSON.parse(await text(socket)) as SharedAccess | { readonly failure: string }
  if ('failure' in reply) throw new Error(reply.failure)
  return reply
}

function urlOf({ url }: SharedAccess, database: string): string {
  const own = new URL(url)
  own.pathname = `/${database}`
  return own.href
}

function quoted(name: string): string {
  return pg.escapeIdentifier(name)
}
