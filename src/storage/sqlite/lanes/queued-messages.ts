import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { ConnectionId } from '../../../core/ids.ts'
import type { MediaState, QueuedMessage, RetryState, Sequence } from '../../../core/message/message.ts'
import { readContent } from '../../../core/message/read-content.ts'
import type { UnindexedTail } from './unindexed-tail.ts'

const COLUMNS = 'sequence, id, account_id, connection_id, recipient, type, body, body_crc, attempts, accepted_at, retry'

interface Row {
  readonly sequence: Sequence
  readonly id: QueuedMessage['id']
  readonly account_id: QueuedMessage['accountId']
  readonly connection_id: ConnectionId
  readonly recipient: string
  readonly type: string
  readonly body: string
  readonly body_crc: number
  readonly attempts: number
  readonly accepted_at: number
  readonly retry: string | null
}

interface MediaRow {
  readonly state: string
  readonly tries: number
  readonly next_try_at: number
  readonly words: string | null
  readonly path: string
  readonly size_bytes: number
  readonly sha256: string
  readonly mime: string
}

/** Reads waiting messages for the dispatcher. */
export class QueuedMessages {
  readonly #run: StatementSync
  readonly #hasEntry: StatementSync
  readonly #between: StatementSync
  readonly #isWaiting: StatementSync
  readonly #one: StatementSync
  readonly #oneWaiting: StatementSync
  readonly #tail: UnindexedTail
  readonly #media: StatementSync

  constructor(database: DatabaseSync, tail: UnindexedTail) {
    this.#tail = tail
    this.#run = database.prepare(
      `select ${COLUMNS.split(', ')
        .map((column) => `message.${column}`)
        .join(', ')}
         from lane_entry cross join message on message.sequence = lane_entry.sequence
         where lane_entry.connection_id = ? and lane_entry.sequence > ? and message.state = 'QUEUED'
         order by lane_entry.sequence limit ?`,
    )
    const waiting = `from lane_entry e cross join message m on m.sequence = e.sequence
      where e.connection_id = ? and m.state = 'QUEUED'`
    this.#hasEntry = database.prepare(`select 1 ${waiting} limit 1`)
    this.#between = database.prepare(
      `select e.sequence ${waiting} and e.sequence > ? and e.sequence < ? order by e.sequence limit 2`,
    )
    this.#isWaiting = database.prepare(`select 1 from message where sequence = ? and state = 'QUEUED'`)
    this.#one = database.prepare(`select ${COLUMNS} from message where sequence = ?`)
    this.#oneWaiting = database.prepare(`select ${COLUMNS} from message where sequence = ? and state = 'QUEUED'`)
    this.#media = database.prepare(
      'select state, tries, next_try_at, words, path, size_bytes, sha256, mime from media where message_sequence = ?',
    )
  }

  /** The oldest unfinished messages of a lane behind this one, in order of acceptance: first those with an entry, then the newest. */
  run(connectionId: ConnectionId, limit: number, after: Sequence): QueuedMessage[] {
    const run = this.#tail.mayHaveEntries(connectionId) ? this.#entered(connectionId, limit, after) : []
    const entered = run.at(-1)?.sequence ?? after
    for (const sequence of this.#tail.of(connectionId)) {
      if (run.length >= limit) break
      // Entered already, and not yet removed from the tail.
      if (sequence <= entered) continue
      const row = this.#oneWaiting.get(sequence) as unknown as Row | undefined
      if (row) run.push(this.#toMessage(row))
    }
    return run
  }

  #entered(connectionId: ConnectionId, limit: number, after: Sequence): QueuedMessage[] {
    const rows = this.#run.all(connectionId, after, limit) as unknown as Row[]
    // Deferred messages may have entries before those that were asked for.
    if (rows.length === 0 && (after === 0 || !this.#hasEntry.get(connectionId))) this.#tail.hasNoEntries(connectionId)
    return rows.map((row) => this.#toMessage(row))
  }

  /** Whether no message waits in the lane between these two, except the one that is being finished. */
  isNext(
    connectionId: ConnectionId,
    sequence: Sequence,
    { after, closed }: { after: Sequence; closed: Sequence | null },
  ) {
    if (this.#tail.mayHaveEntries(connectionId)) {
      const entered = this.#between.all(connectionId, after, sequence) as { sequence: Sequence }[]
      if (entered.some((entry) => entry.sequence !== closed)) return false
    }
    // In memory for a lane that keeps up.
    return !this.#tail
      .of(connectionId)
      .some((one) => one > after && one < sequence && one !== closed && this.#isWaiting.get(one) !== undefined)
  }

  hasAny(connectionId: ConnectionId): boolean {
    return this.run(connectionId, 1, 0).length > 0
  }

  one(sequence: Sequence): QueuedMessage | null {
    const row = this.#one.get(sequence) as unknown as Row | undefined
    return row ? this.#toMessage(row) : null
  }

  #toMessage(row: Row): QueuedMessage {
    // What was stored is what is sent: a flipped bit on the disk must not reach a recipient.
    const intact = crc32(row.body) === row.body_crc
    return {
      sequence: row.sequence,
      id: row.id,
      accountId: row.account_id,
      connectionId: row.connection_id,
      recipient: row.recipient,
      acceptedAt: row.accepted_at,
      attempts: row.attempts,
      content: intact ? readContent(row.body) : null,
      media: row.type === 'message' ? null : this.#mediaOf(row.sequence),
      retry: row.retry === null ? null : (JSON.parse(row.retry) as RetryState),
    }
  }

  #mediaOf(sequence: Sequence): MediaState {
    const row = this.#media.get(sequence) as unknown as MediaRow | undefined
    if (row?.state === 'ready') {
      return { kind: 'ready', file: { path: row.path, sizeBytes: row.size_bytes, sha256: row.sha256, mime: row.mime } }
    }
    return { kind: 'pending', tries: row?.tries ?? 0, nextTryAt: row?.next_try_at ?? 0, lastWords: row?.words ?? null }
  }
}
