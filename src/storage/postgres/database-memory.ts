import type { WorkerId } from '../../core/ids.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { judgeFound, type Remembered, type RemembranceFile } from '../shared/remembrance.ts'
import type { Ask } from './link.ts'
import type { Slot } from './slot.ts'

const LOOK = `select pg_is_in_recovery() as is_standby,
    case when pg_is_in_recovery() then 0
      else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer end as timeline,
    current_setting('synchronous_standby_names') <> '' as is_synchronous,
    r.installation, r.mark,
    (select coalesce(json_object_agg(p.slot, p.count), '{}') from progress p where p.worker = $1) as counts
  from remembrance r`

export interface DatabaseMemoryParts {
  readonly worker: WorkerId
  readonly file: RemembranceFile
  /** Says what a person must know: the lanes are held, or a database is refused. */
  readonly onAlarm: (sentence: string) => void
}

/**
 * Remembers how far the database had got, and looks at every new connection whether it still is: after a failover or a
 * restore it may know nothing of messages that were sent, and would have them sent again (G12).
 */
export class DatabaseMemory {
  readonly #parts: DatabaseMemoryParts
  readonly #slots: Slot[] = []
  #remembered: Remembered | null

  constructor(parts: DatabaseMemoryParts) {
    this.#parts = parts
    this.#remembered = parts.file.read()
  }

  /** What this slot was told to be committed must be found after a break. */
  watch(slot: Slot): void {
    this.#slots.push(slot)
  }

  /** To be called with each fresh connection, before anything else is asked of it. Throws when it must not be used. */
  async greet(ask: Ask): Promise<void> {
    // Before the look: whatever is confirmed meanwhile need not be in what it sees.
    const expected = this.#slots.map((slot) => slot.confirmed)
    const [row] = await ask(LOOK, [this.#parts.worker])
    if (!row || row['is_standby'] === true) throw refuse('it is a standby and takes no writes')
    const found = toRemembered(row)
    const finding = judgeFound(this.#remembered, found)
    if (finding.is === 'not-ours') {
      this.#parts.onAlarm(`The database is refused: ${finding.reason}. Point NUNCIO_DATABASE_URL at the right one.`)
      throw refuse(finding.reason)
    }
    const counts = row['counts'] as Record<string, number>
    const isShort = this.#slots.some((slot, at) => (counts[slot.number] ?? 0) < (expected[at] ?? 0))
    if (finding.is === 'gone-back') await this.#hold(ask, finding.reason)
    else if (isShort) await this.#hold(ask, 'commits that it had confirmed are missing')
    for (const slot of this.#slots) if (isShort) slot.settleFor(counts[slot.number] ?? 0)
    this.#keep({ ...found, mark: Math.max(found.mark, this.#remembered?.mark ?? 0) })
  }

  /** Moves the mark on. To be called with every heartbeat. */
  async beat(ask: Ask): Promise<void> {
    const [row] = await ask('update remembrance set mark = mark + 1 returning mark')
    if (this.#remembered && row) this.#keep({ ...this.#remembered, mark: row['mark'] as number })
  }

  async #hold(ask: Ask, reason: string): Promise<void> {
    await ask(
      `with held as (insert into hold ("only", since, reason) values (1, now_ms(), $1) on conflict do nothing)
         update remembrance set mark = greatest(mark, $2::bigint) + 1`,
      [reason, this.#remembered?.mark ?? 0],
    )
    this.#parts.onAlarm(
      `The database is older than it was: ${reason}. All lanes are held. Look at what was sent, then: nuncio hold --release`,
    )
  }

  #keep(remembered: Remembered): void {
    this.#remembered = remembered
    this.#parts.file.write(remembered)
  }
}

function toRemembered(row: Record<string, unknown>): Remembered {
  return {
    installation: row['installation'] as string,
    mark: row['mark'] as number,
    timeline: row['timeline'] as number,
    isSynchronous: row['is_synchronous'] as boolean,
  }
}

function refuse(reason: string): StorageUnavailable {
  return new StorageUnavailable(`the database is refused: ${reason}`, false)
}
