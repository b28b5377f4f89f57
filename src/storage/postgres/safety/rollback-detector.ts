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

// What cannot be used is met again and again by each connection. People need to be told now and then.
const ALARM_AGAIN_AFTER_MS = 60_000

// A standby writes no log, and must not ask for its timeline.
const SERVER = `(select system_identifier::text from pg_control_system()) as server,
    case when pg_is_in_recovery() then 0 else this_timeline() end as timeline,
    current_setting('synchronous_standby_names') <> '' as is_synchronous`

const LOOK = `select installation, mark, holds, pg_is_in_recovery() as is_standby, ${SERVER},
    exists (select from worker w where w.id = $1) as is_known,
    (select coalesce(json_object_agg(p.connection_index, p.count), '{}') from fence p where p.worker = $1) as counts,
    k.id as known_server, k.timeline as known_timeline, k.is_synchronous as is_known_synchronous
  from checkpoint left join known_server k on true`

const MOVE_ON = `select installation, mark, holds, ${SERVER} from advance_checkpoint()`

interface RollbackDetectorParts {
  readonly worker: WorkerId
  readonly file: CheckpointFile
  /** Says what a person must know: the lanes are held, or a database is refused. */
  readonly onAlarm: (sentence: string) => void
}

/**
 * Remembers how far the database had got, and looks at every new connection whether it still is: after a failover or a
 * restore it may know nothing of messages that were sent, and would have them sent again (G12).
 */
export class RollbackDetector {
  readonly #parts: RollbackDetectorParts
  readonly #slots: FencedConnection[] = []
  #remembered: Checkpoint | null = null
  #alarm = { sentence: '', at: Number.NEGATIVE_INFINITY }

  constructor(parts: RollbackDetectorParts) {
    this.#parts = parts
  }

  /** What this slot was told to be committed must be found after a break. */
  watch(slot: FencedConnection): void {
    this.#slots.push(slot)
  }

  /** To be called with each fresh connection, before anything else is asked of it. Throws when it must not be used. */
  async validateConnection(ask: Query): Promise<void> {
    // All of it before the look: what is confirmed or remembered meanwhile, by us or by others, need not be in what it sees.
    const expected = this.#slots.map((slot) => slot.confirmed)
    const ours = { written: this.#parts.file.read(), remembered: this.#remembered }
    const [row] = await ask(LOOK, [this.#parts.worker])
    if (!row || row['is_standby'] === true) throw refuse('it is a standby and takes no writes')
    const found = toRemembered(row)
    const latest = latestOf(ours, found)
    const finding = checkFound(latest, found)
    const remembered = readable(latest)
    if (finding.is === 'not-ours') {
      const refusal = notOurs(finding.reason, this.#parts.file)
      this.#tell(refusal.message)
      throw refuse(finding.reason, refusal)
    }
    const counts = row['counts'] as Record<string, number>
    const isShort = this.#slots.some((slot, at) => (counts[slot.number] ?? 0) < (expected[at] ?? 0))
    // Of a worker that was away for so long that it was forgotten, the counts are forgotten too.
    const isMissing = isShort && row['is_known'] === true && !wasHeldSince(remembered, found)
    const known = knownServer(row)
    const reason =
      reasonToHold(finding) ??
      (isMissing ? 'commits that it had confirmed are missing' : null) ??
      (wasHeldSince(remembered, found) ? null : reasonToHold(checkFound(known && { ...found, server: known }, found)))
    const holds = reason === null ? found.holds : await this.#hold(ask, reason, [found.holds, remembered?.holds ?? 0])
    // Whoever held the lanes has said so, too.
    if (reason === null && !isSame(known, found.server)) await this.#makeKnown(ask, found)
    if (isShort) for (const slot of this.#slots) slot.settleFor(counts[slot.number] ?? 0)
    await this.#keep({ ...found, holds, server: asConfirmed(remembered, found) })
  }

  /** Moves the mark on. To be called with every heartbeat. Throws when the database must not be used. */
  async renewLease(ask: Query): Promise<void> {
    const remembered = this.#remembered
    const [row] = await ask(MOVE_ON)
    if (!row) return
    const found = toRemembered(row)
    // Behind a pooler it may go back without a connection of ours that breaks.
    if (checkFound(remembered, found).is === 'as-remembered') await this.#keep(found)
    else await this.validateConnection(ask)
  }

  /** Given how often they were held, as was seen just now and as was remembered. Returns how often they are now. */
  async #hold(ask: Query, reason: string, holds: readonly [number, number]): Promise<number> {
    const [row] = await ask('select hold_lanes($1, $2, $3) as holds', [reason, ...holds])
    this.#tell(
      `The database is older than it was: ${reason}. All lanes are held. Look at what was sent, then: ${commandLine`hold --release`}`,
    )
    return row?.['holds'] as number
  }

  /** From now on others may take it for judged as well. */
  async #makeKnown(ask: Query, { server }: Checkpoint): Promise<void> {
    await ask('select verify_server($1, $2)', [server?.id, server?.timeline])
  }

  #tell(sentence: string): void {
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
 * For connections beside those that the memory greets, such as the console's: refuses what is known not to be ours, above all
 * an old primary, whose changes nobody would ever see. Nothing is remembered or held by it.
 */
export async function refuseNotOurs(ask: Query, file: CheckpointFile): Promise<void> {
  const remembered = file.read()
  const [row] = await ask(`select installation, mark, holds, ${SERVER} from checkpoint`)
  const finding = row ? checkFound(remembered, toRemembered(row)) : null
  if (finding?.is === 'not-ours') throw notOurs(finding.reason, file)
}

function notOurs(reason: string, file: CheckpointFile): Refusal {
  return new Refusal(
    'database_not_ours',
    `The database is refused: ${reason}. Point NUNCIO_DATABASE_URL at the right one. If it is meant: ${commandLine`hold --because WHY`}, remove ${file.path}, and start again.`,
  )
}

/** Others on the same data folder may have seen more, such as that a standby was promoted. */
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
 * That commits wait for standbys now says nothing of those that were made before: only when the mark has been moved on
 * since do the standbys have all that is remembered.
 */
function asConfirmed(remembered: Checkpoint | null, { server }: Checkpoint): RememberedServer | null {
  const before = remembered?.server
  const wasSynchronous = before?.id === server?.id && before?.timeline === server?.timeline && before?.isSynchronous
  return server && { ...server, isSynchronous: server.isSynchronous && wasSynchronous === true }
}

/** By which server the database was last looked at, by whomever; null as long as nobody has noted it. */
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
