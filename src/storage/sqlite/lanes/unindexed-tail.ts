import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { PassedRange } from '../../../core/ports/lanes.ts'
import type { GroupCommit, Participant } from '../connection/group-commit.ts'
import { storageError } from '../connection/sqlite-errors.ts'

// Long enough that most messages have been sent by then, short enough that few need to be kept in memory.
const ENTERED_AFTER_MS = 250
// Read and written in small parts, because other commits wait for each part.
const READ_AT_ONCE = 2_048
const WRITE_AT_ONCE = 256

interface Newcomer {
  readonly connection_id: ConnectionId
  readonly sequence: Sequence
}

/**
 * The newest messages, before they have an entry in their lane.
 *
 * Entering each message into its lane as it is accepted would touch one page for each of a thousand lanes:
 * that was a third of the cost of accepting. So the newest are kept in memory, and in the database they are
 * known by their sequence alone (`indexed_through`). Those that still wait a moment later are entered together, lane by
 * lane. Most never are, because they have been sent by then.
 *
 * The memory only saves queries. The database is authoritative: a message is entered, or above the mark.
 */
export class UnindexedTail implements Participant {
  readonly #commits: GroupCommit
  readonly #newAbove: StatementSync
  readonly #stillWaiting: StatementSync
  readonly #enter: StatementSync
  readonly #setMark: StatementSync
  readonly #tails = new Map<ConnectionId, Sequence[]>()
  #mark: Sequence
  #last: Sequence
  /** Lanes whose entries are all settled, so that a lane in flow need not be looked up for each message. */
  readonly #withoutEntries = new Set<ConnectionId>()
  #pending: Newcomer[] = []
  #isEntering = false
  #timer: NodeJS.Timeout | null = null
  /** Null before `start`. */
  #onError: ((error: unknown) => void) | null = null

  constructor(database: DatabaseSync, commits: GroupCommit) {
    this.#commits = commits
    this.#newAbove = database.prepare(
      'select connection_id, sequence from message where sequence > ? order by sequence',
    )
    this.#stillWaiting = database.prepare(
      `select connection_id, sequence from message where sequence > ? and sequence <= ? and state = 'QUEUED'`,
    )
    this.#enter = database.prepare(
      `insert or ignore into lane_entry (connection_id, sequence)
         select connection_id, sequence from message where sequence = ? and state = 'QUEUED'`,
    )
    this.#setMark = database.prepare('update indexed_through set sequence = ?')
    this.#mark = enterAll(database)
    this.#last = this.#mark
    this.readNew()
    commits.join(this)
  }

  /** From now on messages that still wait some time after their acceptance are entered into their lanes. Failures are retried. */
  start(onError: (error: unknown) => void): void {
    this.#onError = onError
    this.#plan()
  }

  /** May be called twice, and before `start`. */
  stop(): void {
    this.#onError = null
    clearTimeout(this.#timer ?? undefined)
  }

  /** Inside the accepting transaction. It counts once that has committed. */
  add(connectionId: ConnectionId, sequence: Sequence): void {
    this.#pending.push({ connection_id: connectionId, sequence })
  }

  /** Another process (the CLI) may have added messages. Not within a transaction that has added some itself. */
  readNew(): void {
    for (const row of this.#newAbove.iterate(this.#last) as Iterable<unknown> as Iterable<Newcomer>) this.#push(row)
  }

  /** The newest of this connection, in order. Some may be settled by now: the message itself must be asked. */
  of(connectionId: ConnectionId): readonly Sequence[] {
    return this.#tails.get(connectionId) ?? NONE
  }

  mayHaveEntries(connectionId: ConnectionId): boolean {
    return !this.#withoutEntries.has(connectionId)
  }

  /** A query has found no unfinished entry. Only `enter` makes new ones, and settled messages stay settled. */
  hasNoEntries(connectionId: ConnectionId): void {
    this.#withoutEntries.add(connectionId)
  }

  connections(): Iterable<ConnectionId> {
    return this.#tails.keys()
  }

  /** The lane has passed these. Only the deferred ones among them still wait. */
  passed(connectionId: ConnectionId, { after, through, deferred }: PassedRange): void {
    const tail = this.#tails.get(connectionId)
    if (!tail) return
    const indexOfFirst = (above: Sequence) => {
      const index = tail.findIndex((one) => one > above)
      return index < 0 ? tail.length : index
    }
    const from = indexOfFirst(after)
    const range = tail.splice(from, indexOfFirst(through) - from)
    if (deferred.length > 0) tail.splice(from, 0, ...range.filter((one) => deferred.includes(one)))
    if (tail.length === 0) this.#tails.delete(connectionId)
  }

  begin(): void {}

  committed(): void {
    if (this.#pending.length === 0) return
    for (const newcomer of this.#pending) this.#push(newcomer)
    this.#pending = []
  }

  rolledBack(): void {
    this.#pending = []
  }

  /** Enters the messages that still wait into their lanes. May be called while it runs already. */
  async enter(): Promise<void> {
    const through = this.#last
    if (this.#isEntering || through === this.#mark) return
    this.#isEntering = true
    try {
      const waiting = await this.#readWaiting(through)
      for (let at = 0; at < waiting.length; at += WRITE_AT_ONCE) {
        const some = waiting.slice(at, at + WRITE_AT_ONCE)
        await this.#commits.submit(() => {
          for (const { connection_id, sequence } of some) {
            // Inside the transaction: a query from before its begin must not undo this.
            this.#withoutEntries.delete(connection_id)
            this.#enter.run(sequence)
          }
        })
      }
      await this.#commits.submit(() => this.#setMark.run(through))
      this.#mark = through
      for (const connectionId of this.#tails.keys()) this.passed(connectionId, { after: 0, through, deferred: NONE })
    } finally {
      this.#isEntering = false
    }
  }

  /** Lane by lane, in order: entries that lie beside each other are written together. */
  async #readWaiting(through: Sequence): Promise<Newcomer[]> {
    const waiting: Newcomer[] = []
    for (let from = this.#mark; from < through; from += READ_AT_ONCE) {
      const rows = this.#stillWaiting.all(from, Math.min(from + READ_AT_ONCE, through))
      waiting.push(...(rows as unknown as Newcomer[]))
      await new Promise((resolve) => setImmediate(resolve))
    }
    return waiting.sort((a, b) =>
      a.connection_id < b.connection_id ? -1 : a.connection_id > b.connection_id ? 1 : a.sequence - b.sequence,
    )
  }

  #push({ connection_id, sequence }: Newcomer): void {
    const tail = this.#tails.get(connection_id)
    if (tail) tail.push(sequence)
    else this.#tails.set(connection_id, [sequence])
    this.#last = sequence
    if (!this.#timer) this.#plan()
  }

  /** Only while there is something to enter: an idle process is not to be woken. */
  #plan(): void {
    const onError = this.#onError
    if (!onError || this.#last === this.#mark) return
    this.#timer = setTimeout(() => {
      void this.enter()
        .catch(onError)
        .finally(() => {
          this.#timer = null
          this.#plan()
        })
    }, ENTERED_AFTER_MS).unref()
  }
}

const NONE: readonly Sequence[] = []

/** At start no request waits, so all messages above the mark are entered at once. Returns the mark. */
function enterAll(database: DatabaseSync): Sequence {
  const mark = () => (database.prepare('select sequence as mark from indexed_through').get() as { mark: number }).mark
  try {
    database.exec(`begin immediate;
      insert or ignore into lane_entry (connection_id, sequence)
        select connection_id, sequence from message
          where sequence > (select sequence from indexed_through) and state = 'QUEUED' order by connection_id, sequence;
      update indexed_through set sequence = max(sequence, (select coalesce(max(sequence), 0) from message));
      commit`)
  } catch (error) {
    if (database.isTransaction) database.exec('rollback')
    // On a full disk they stay in memory until there is room.
    if (storageError(error) !== 'full' && storageError(error) !== 'busy') throw error
  }
  return mark()
}
