import { commandLine } from '../../../core/command-line.ts'
import type { WorkerId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import {
  type Checkpoint,
  type CheckpointFile,
  checkFound,
  type Finding,
  isLater,
  type Memory,
  type RememberedServer,
  readable,
  wasHeldSince,
} from '../../queries/checkpoint.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import type { Query, Row } from '../connection/pg-connection.ts'

// Each new connection finds the same problem again. People need the same alarm once a minute at most.
const ALARM_AGAIN_AFTER_MS = 60_000

// A standby writes no log, and must not ask for its timeline.
const SERVER = `(select system_identifier::text from pg_control_system()) as server,
    case when pg_is_in_recovery() then 0 else this_timeline() end as timeline,
    current_setting('synchronous_standby_names') <> '' as is_synchronous`

const READ_STATE = `select installation, mark, holds, pg_is_in_recovery() as is_standby, ${SERVER},
    exists (select from worker w where w.id = $1) as is_known,
    (select coalesce(json_object_agg(p.connection_index, p.count), '{}') from fence p where p.worker = $1) as counts,
    k.id as known_server, k.timeline as known_timeline, k.is_synchronous as is_known_synchronous
  from checkpoint left join known_server k on true`

const ADVANCE = `select installation, mark, holds, ${SERVER} from advance_checkpoint()`

interface RollbackDetectorParts {
  readonly worker: WorkerId
  readonly file: CheckpointFile
  /** Reports to people that the lanes are held or that a database is refused. */
  readonly onAlarm: (sentence: string) => void
}

/**
 * Stores how far the database had got, and compares every new connection with it. After a failover or a restore the
 * database may lack messages that were sent, and they would be sent again (G12).
 */
export class RollbackDetector {
  readonly #parts: RollbackDetectorParts
  readonly #connections: FencedConnection[] = []
  #remembered: Checkpoint | null = null
  #alarm = { sentence: '', at: Number.NEGATIVE_INFINITY }

  constructor(parts: RollbackDetectorParts) {
    this.#parts = parts
  }

  /** After a break the database must still have every commit that this connection got confirmed. */
  watch(connection: FencedConnection): void {
    this.#connections.push(connection)
  }

  /** Must be the first query on each new connection. Throws when the connection must not be used. */
  async validateConnection(query: Query): Promise<void> {
    // Snapshot the local counters first: commits that any process makes after this may be missing from the result.
    const expected = this.#connections.map((connection) => connection.confirmed)
    const ours = { written: this.#parts.file.read(), remembered: this.#remembered }
    const [row] = await query(READ_STATE, [this.#parts.worker])
    if (!row || row['is_standby'] === true) throw refuse('it is a standby and takes no writes')
    const found = toRemembered(row)
    const latest = latestOf(ours, found)
    const finding = checkFound(latest, found)
    const remembered = readable(latest)
    if (finding.is === 'not-ours') {
      const refusal = notOurs(finding.reason, this.#parts.file)
      this.#raiseAlarm(refusal.message)
      throw refuse(finding.reason, refusal)
    }
    const counts = row['counts'] as Record<string, number>
    const isShort = this.#connections.some(({ number }, at) => (counts[number] ?? 0) < (expected[at] ?? 0))
    // Maintenance deletes a worker that was away for long, and later its counts. Then missing counts prove nothing.
    const isMissing = isShort && row['is_known'] === true && !wasHeldSince(remembered, found)
    const known = knownServer(row)
    const reason =
      reasonToHold(finding) ??
      (isMissing ? 'commits that it had confirmed are missing' : null) ??
      (wasHeldSince(remembered, found) ? null : reasonToHold(checkFound(known && { ...found, server: known }, found)))
    const holds = reason === null ? found.holds : await this.#hold(query, reason, [found.holds, remembered?.holds ?? 0])
    // `hold_lanes` stores the server as well.
    if (reason === null && !isSame(known, found.server)) await this.#verifyServer(query, found)
    if (isShort) for (const connection of this.#connections) connection.settleFor(counts[connection.number] ?? 0)
    await this.#keep({
      ...found,
      mark: confirmedMark(remembered, found),
      holds,
      server: asConfirmed(remembered, found),
    })
  }

  /** Advances the checkpoint. Must be called with every heartbeat. Throws when the database must not be used. */
  async renewLease(query: Query): Promise<void> {
    const remembered = this.#remembered
    const [row] = await query(ADVANCE)
    if (!row) return
    const found = toRemembered(row)
    // Behind a pooler the database may go back while our connection stays open.
    if (checkFound(remembered, found).is === 'as-remembered') await this.#keep(found)
    else await this.validateConnection(query)
  }

  /** `holds`: how often the lanes were held according to the database and to our checkpoint. Returns the new number. */
  async #hold(query: Query, reason: string, holds: readonly [number, number]): Promise<number> {
    const [row] = await query('select hold_lanes($1, $2, $3) as holds', [reason, ...holds])
    this.#raiseAlarm(
      `The database is older than it was: ${reason}. All lanes are held. Check what was sent, then: ${commandLine`hold --release`}`,
    )
    return row?.['holds'] as number
  }

  /** From now on other processes accept this server without checking it again. */
  async #verifyServer(query: Query, { server }: Checkpoint): Promise<void> {
    await query('select verify_server($1, $2)', [server?.id, server?.timeline])
  }

  #raiseAlarm(sentence: string): void {
    const at = performance.now()
    if (sentence === this.#alarm.sentence && at - this.#alarm.at < ALARM_AGAIN_AFTER_MS) return
    this.#alarm = { sentence, at }
    this.#parts.onAlarm(sentence)
  }

  async #keep(remembered: Checkpoint): Promise<void> {
    if (this.#remembered && !isLater(remembered, this.#remembered)) return
    this.#remembered = remembered
    await this.#parts.file.write(remembered)
  }
}

/**
 * For connections that the detector does not validate, such as the console's. Refuses a database that is known not to be
 * ours, above all an old primary, whose changes would be lost. Neither stores a checkpoint nor holds lanes.
 */
export async function refuseNotOurs(query: Query, file: CheckpointFile): Promise<void> {
  const remembered = file.read()
  const [row] = await query(`select installation, mark, holds, ${SERVER} from checkpoint`)
  const finding = row ? checkFound(remembered, toRemembered(row)) : null
  if (finding?.is === 'not-ours') throw notOurs(finding.reason, file)
}

function notOurs(reason: string, file: CheckpointFile): Refusal {
  return new Refusal(
    'database_not_ours',
    `The database is refused: ${reason}. Point NUNCIO_DATABASE_URL at the right one. If it is meant: ${commandLine`hold --because WHY`}, remove ${file.path}, and start again.`,
  )
}

/** Another process on the same data folder may have stored a later checkpoint, such as after a standby was promoted. */
function latestOf(
  { written, remembered }: { readonly written: Memory; readonly remembered: Checkpoint | null },
  found: Checkpoint,
): Memory {
  if (!remembered) return written
  if (written === 'unreadable') return remembered
  const isOurs = written !== null && written.installation === remembered.installation
  return isOurs && (written.server === null) === (found.server === null) && isLater(written, remembered)
    ? written
    : remembered
}

/**
 * Commits that wait for standbys prove nothing about earlier ones. Standbys have the whole checkpoint only once it has
 * advanced since.
 */
function asConfirmed(remembered: Checkpoint | null, { server }: Checkpoint): RememberedServer | null {
  const before = remembered?.server
  const wasSynchronous = before?.id === server?.id && before?.timeline === server?.timeline && before?.isSynchronous
  return server && { ...server, isSynchronous: server.isSynchronous && wasSynchronous === true }
}

/**
 * How far the database is known to have got for certain. A read also sees commits that no standby has confirmed, such as those
 * whose wait was cancelled. A standby that takes over may lack them, and no caller has relied on them.
 */
function confirmedMark(remembered: Checkpoint | null, found: Checkpoint): number {
  if (!found.server?.isSynchronous) return found.mark
  if (!remembered || !isSame(remembered.server, found.server) || remembered.holds !== found.holds) return 0
  return Math.min(remembered.mark, found.mark)
}

/** The server that any process last verified; null if none has. */
function knownServer(row: Row): RememberedServer | null {
  const id = row['known_server'] as string | null
  return id === null
    ? null
    : { id, timeline: row['known_timeline'] as number, isSynchronous: row['is_known_synchronous'] as boolean }
}

function isSame(one: RememberedServer | null, other: RememberedServer | null): boolean {
  return one?.id === other?.id && one?.timeline === other?.timeline
}

function reasonToHold(finding: Finding): string | null {
  return finding.is === 'gone-back' ? finding.reason : null
}

function toRemembered(row: Row): Checkpoint {
  return {
    installation: row['installation'] as string,
    mark: row['mark'] as number,
    holds: row['holds'] as number,
    server: {
      id: row['server'] as string,
      timeline: row['timeline'] as number,
      isSynchronous: row['is_synchronous'] as boolean,
    },
  }
}

function refuse(reason: string, cause?: Refusal): StorageUnavailable {
  return new StorageUnavailable(`the database is refused: ${reason}`, false, { cause })
}
