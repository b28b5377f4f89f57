import { crc32 } from 'node:zlib'
import type { ConnectionId, SpoolId } from '../../../core/ids.ts'
import type { MediaState, QueuedMessage, RetryState, Sequence } from '../../../core/message/message.ts'
import { readContent } from '../../../core/message/read-content.ts'
import { Batcher } from '../connection/batcher.ts'
import { bigintArray, integerArray, textArray } from '../connection/binary-arrays.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'

// A run is a few dozen messages, and all messages of a batch are read in one turn of the event loop.
const LANES_AT_ONCE = 100
// The fixed cost of a query is that of a dozen lanes with one message each.
const LANES_PER_CONNECTION = 24
const LINGER_MS = 4

interface Wanted {
  readonly connectionId: ConnectionId
  readonly limit: number
  readonly after: Sequence
}

interface MediaRow {
  readonly state: string
  readonly tries: number
  readonly nextTryAt: number
  readonly words: string | null
  readonly spool: string | null
  readonly path: string
  readonly sizeBytes: number
  readonly sha256: string
  readonly mime: string
}

/** Reads queued messages for the dispatcher: all lanes that ask in one turn share a statement. */
export class QueuedMessages {
  readonly #pgConnections: readonly PgConnection[]
  readonly #spool: SpoolId
  readonly #batches: Batcher<Wanted, readonly QueuedMessage[]>

  constructor(pgConnections: readonly PgConnection[], spool: SpoolId) {
    this.#pgConnections = pgConnections
    this.#spool = spool
    this.#batches = new Batcher({
      concurrency: pgConnections.length,
      mostPerBatch: LANES_AT_ONCE,
      minPerConnection: LANES_PER_CONNECTION,
      lingerMs: LINGER_MS,
      run: (wanted, index) => this.#load(wanted, index),
    })
  }

  /** The lowest unfinished messages of a lane behind this one, in order of acceptance. */
  run(connectionId: ConnectionId, limit: number, after: Sequence): Promise<readonly QueuedMessage[]> {
    return this.#batches.submit({ connectionId, limit, after })
  }

  /** A row of ours with the columns of a waiting message. */
  toMessage(connectionId: ConnectionId, row: Row): QueuedMessage {
    const body = row['body'] as string
    // What was stored is what is sent: a flipped bit on the disk must not reach a recipient.
    const isIntact = crc32(body) === row['body_crc']
    return {
      sequence: row['sequence'] as QueuedMessage['sequence'],
      id: row['id'] as QueuedMessage['id'],
      accountId: row['account_id'] as QueuedMessage['accountId'],
      connectionId,
      recipient: row['recipient'] as string,
      acceptedAt: row['accepted_at'] as number,
      attempts: row['attempts'] as number,
      content: isIntact ? readContent(body) : null,
      media: row['type'] === 'message' ? null : this.#toMediaState(row['media'] as MediaRow | null),
      retry: row['retry'] === null ? null : (JSON.parse(row['retry'] as string) as RetryState),
    }
  }

  async #load(wanted: readonly Wanted[], index: number): Promise<readonly (readonly QueuedMessage[])[]> {
    const rows = await (this.#pgConnections[index] as PgConnection).query(
      'select * from load_runs($1, $2, $3)',
      [
        textArray(wanted.map(({ connectionId }) => connectionId)),
        integerArray(wanted.map(({ limit }) => limit)),
        bigintArray(wanted.map(({ after }) => after)),
      ],
      'prepared',
    )
    const runs = wanted.map((): QueuedMessage[] => [])
    for (const row of rows) {
      const at = (row['lane'] as number) - 1
      runs[at]?.push(this.toMessage((wanted[at] as Wanted).connectionId, row))
    }
    return runs
  }

  /** A file in another spool cannot be read here: it is still to be fetched. */
  #toMediaState(row: MediaRow | null): MediaState {
    if (row?.state !== 'ready')
      return { kind: 'pending', tries: row?.tries ?? 0, nextTryAt: row?.nextTryAt ?? 0, lastWords: row?.words ?? null }
    if (row.spool !== this.#spool) return { kind: 'pending', tries: 0, nextTryAt: 0, lastWords: null }
    const { path, sizeBytes, sha256, mime } = row
    return { kind: 'ready', file: { path, sizeBytes, sha256, mime } }
  }
}
