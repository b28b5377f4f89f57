import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type {
  DeliveredEntry,
  LedgerInput,
  ListedMessage,
  RecordedAttempt,
  SentRequest,
} from '../ledger/ledger-input.ts'
import { withClient } from '../postgres/postgres-server.ts'
import { LoadAwareDeadline } from './load-aware-deadline.ts'
import type { NuncioCli } from './nuncio-cli.ts'

const COUNTED_EVERY_MS = 500

interface ListedConnection {
  readonly number: string
  readonly waiting: number
  readonly reason: string | null
}

/**
 * Waits until no message waits any more, or until their number has not fallen for `stalledMs`. The ledger reports what is left.
 */
export async function drain(cli: Pick<NuncioCli, 'json'>, stalledMs: number): Promise<void> {
  let deadline = new LoadAwareDeadline(stalledMs)
  for (let fewest = Number.POSITIVE_INFINITY; ; ) {
    const connections = await cli.json<ListedConnection[]>('connection', 'list')
    const waiting = connections.reduce((sum, connection) => sum + connection.waiting, 0)
    if (waiting === 0 || deadline.isOver()) return
    if (waiting < fewest) deadline = new LoadAwareDeadline(stalledMs)
    fewest = Math.min(fewest, waiting)
    await setTimeout(COUNTED_EVERY_MS)
  }
}

/** Where to find what the service has stored. */
export interface Recorded {
  readonly cli: Pick<NuncioCli, 'json'>
  /** The folder of the SQLite file, unless the data are on PostgreSQL. */
  readonly dataDir: string
  /** The database, if it is on PostgreSQL. */
  readonly databaseUrl?: string
}

const MOST_READINGS = 10

/** Collects all that the service has stored, beside what the client knows. */
export async function collectLedger(
  { cli, dataDir, databaseUrl }: Recorded,
  requests: readonly SentRequest[],
): Promise<LedgerInput> {
  const list = () => cli.json<Dated<Omit<ListedMessage, 'text'>, 'acceptedAt'>[]>('message', 'list')
  let messages = await list()
  let inbox: Dated<DeliveredEntry, 'deliveredAt'>[] = []
  // The service may still accept and deliver a request that the client gave up on. Read until both lists show the same state.
  for (let reading = 0; reading < MOST_READINGS; reading += 1) {
    inbox = await cli.json<Dated<DeliveredEntry, 'deliveredAt'>[]>('sandbox', 'inbox')
    const again = await list()
    const isSame = isDeepStrictEqual(again, messages)
    messages = again
    if (isSame) break
  }
  const { attempts, contents } = databaseUrl === undefined ? readStored(dataDir) : await readStoredAt(databaseUrl)
  return {
    requests,
    messages: messages.map((message) => ({
      ...message,
      acceptedAt: Date.parse(message.acceptedAt),
      text: null,
      ...contents.get(message.id),
    })),
    inbox: inbox.map((entry) => ({ ...entry, deliveredAt: Date.parse(entry.deliveredAt) })),
    attempts,
  }
}

/** A row as JSON carries it, with this time as ISO 8601. */
type Dated<Row, Moment extends keyof Row> = Omit<Row, Moment> & Readonly<Record<Moment, string>>

// No command lists all attempts and texts, so they are read from the database.
const ATTEMPTS = `
  select message.id as "messageId", connection.number as connection, tried.number, tried.started_at as "startedAt",
      tried.ended_at as "endedAt", tried.outcome, media.ended_at as "mediaEndedAt"
    from (
      select message_sequence, number, started_at, ended_at, outcome from attempt
      union all
      select message_sequence, number, started_at, null, null from open_attempt
    ) as tried
    join message on message.sequence = tried.message_sequence
    join connection on connection.id = message.connection_id
    left join media on media.message_sequence = tried.message_sequence
    order by tried.started_at, tried.message_sequence`
// The body is empty after its content was deleted.
const CONTENTS = `
  select message.id, message.body, media.ended_at as "mediaEndedAt"
    from message left join media on media.message_sequence = message.sequence`

interface Stored {
  readonly attempts: readonly RecordedAttempt[]
  readonly contents: ReadonlyMap<string, Pick<ListedMessage, 'text' | 'mediaEndedAt'>>
}

function readStored(dataDir: string): Stored {
  const database = new DatabaseSync(findDatabase(dataDir), { readOnly: true, timeout: 5_000 })
  try {
    return {
      attempts: database.prepare(ATTEMPTS).all() as unknown as RecordedAttempt[],
      contents: readContents(database.prepare(CONTENTS).all() as unknown as ContentRow[]),
    }
  } finally {
    database.close()
  }
}

async function readStoredAt(url: string): Promise<Stored> {
  const [{ rows }, contents] = await withClient(url, async (client) => [
    await client.query<RecordedAttempt>(ATTEMPTS),
    await client.query<ContentRow>(CONTENTS),
  ])
  const attempts = rows.map((row) => ({
    ...row,
    startedAt: Number(row.startedAt),
    endedAt: toNumber(row.endedAt),
    mediaEndedAt: toNumber(row.mediaEndedAt),
  }))
  return { attempts, contents: readContents(contents.rows) }
}

interface ContentRow {
  readonly id: string
  readonly body: string
  readonly mediaEndedAt: unknown
}

interface Body {
  readonly message: { readonly message?: string; readonly media?: { readonly caption?: string } }
}

function readContents(rows: readonly ContentRow[]): Stored['contents'] {
  return new Map(
    rows.map(({ id, body, mediaEndedAt }) => [id, { text: textIn(body), mediaEndedAt: toNumber(mediaEndedAt) }]),
  )
}

function textIn(body: string): string | null {
  if (body === '') return null
  const { message } = JSON.parse(body) as Body
  return message.message ?? message.media?.caption ?? null
}

function toNumber(moment: unknown): number | null {
  return moment === null ? null : Number(moment)
}

/** Finds the file that holds the messages, whatever its name. */
export function findDatabase(dataDir: string): string {
  const files = readdirSync(dataDir, { withFileTypes: true })
  const found = files.find(({ name }) => existsSync(join(dataDir, `${name}-wal`)) || /\.(db|sqlite3?)$/.test(name))
  if (!found) throw new Error('The data directory holds no database')
  return join(dataDir, found.name)
}
