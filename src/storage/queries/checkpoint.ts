import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a process remembers of its database, to detect an older state of it. */
export interface Checkpoint {
  /** A random id from the creation of the database, copied with it. */
  readonly installation: string
  /** Grows with every heartbeat of any process. */
  readonly mark: number
  /** How often all lanes have been held. A person has dealt with everything before the last hold. */
  readonly holds: number
  /** Null where the database is a file of ours (SQLite). */
  readonly server: RememberedServer | null
}

/** Null where the file is missing or unreadable. */
export function readable(memory: Memory): Checkpoint | null {
  return memory === 'unreadable' ? null : memory
}

export interface RememberedServer {
  /** A random id from the creation of its data folder. Its standbys have the same. */
  readonly id: string
  /** Counts the promotions of standbys. */
  readonly timeline: number
  /** Whether the last commit that is remembered was confirmed by a standby, so that a promoted one has it. */
  readonly isSynchronous: boolean
}

/** Null: there is no checkpoint. Unreadable: there is one, but its content is unknown. */
export type Memory = Checkpoint | 'unreadable' | null

export type Finding =
  | { readonly is: 'as-remembered' }
  /** It may lack messages that were sent, so nothing may be sent until a person has checked (G12). */
  | { readonly is: 'gone-back'; readonly reason: string }
  /** It must not be used at all. */
  | { readonly is: 'not-ours'; readonly reason: string }

const FINE: Finding = { is: 'as-remembered' }

/** Compares the stored checkpoint with that of the database. Pure. */
export function checkFound(remembered: Memory, found: Checkpoint): Finding {
  if (remembered === 'unreadable')
    return {
      is: 'gone-back',
      reason: 'how far it had got cannot be read in remembered.json, so it may be an older state of the database',
    }
  // The checkpoint of a file says nothing about a server: the data were copied there.
  if (remembered === null || (remembered.server === null) !== (found.server === null)) return FINE
  if (found.installation !== remembered.installation)
    return { is: 'not-ours', reason: 'it is the database of another installation' }
  const { before, now } = timelines(remembered, found)
  if (now < before) {
    return {
      is: 'not-ours',
      reason: `it is an old primary (timeline ${now}): a standby has been promoted since (timeline ${before})`,
    }
  }
  if (wasHeldSince(remembered, found)) return FINE
  const lacksMarks = found.mark < remembered.mark || found.holds < remembered.holds
  if (now > before && lacksMarks)
    return { is: 'gone-back', reason: 'a standby was promoted that lacks the last commits' }
  if (now > before && !remembered.server?.isSynchronous) {
    return {
      is: 'gone-back',
      reason: 'a standby was promoted that did not confirm every commit, so it may lack the last ones',
    }
  }
  return lacksMarks
    ? { is: 'gone-back', reason: 'it is an older state of the database, such as a backup that was restored' }
    : FINE
}

/** Another process has detected the rollback before, or a person has held the lanes: nothing is left to do. */
export function wasHeldSince(remembered: Checkpoint | null, found: Checkpoint): boolean {
  return remembered !== null && found.holds > remembered.holds
}

/** Whether the first of two checkpoints of one database is the later. True for checkpoints of different databases. */
export function isLater(one: Checkpoint, other: Checkpoint): boolean {
  if (one.installation !== other.installation || (one.server === null) !== (other.server === null)) return true
  const { before, now } = timelines(other, one)
  if (now !== before) return now > before
  // After a hold the mark continues from the value in the older state.
  return one.holds === other.holds ? one.mark >= other.mark : one.holds > other.holds
}

/** Equal for different servers, because their timelines cannot be compared. */
function timelines(remembered: Checkpoint, found: Checkpoint): { readonly before: number; readonly now: number } {
  if (!remembered.server || remembered.server.id !== found.server?.id) return { before: 0, now: 0 }
  return { before: remembered.server.timeline, now: found.server.timeline }
}

/** A file beside the data, which outlives the process. All processes on the folder share it; the latest checkpoint wins. */
export class CheckpointFile {
  readonly path: string
  #writing: Promise<void> = Promise.resolve()

  constructor(path: string) {
    this.path = path
  }

  static in(dataDir: string): CheckpointFile {
    return new CheckpointFile(join(dataDir, 'remembered.json'))
  }

  read(): Memory {
    try {
      return toRemembered(JSON.parse(readFileSync(this.path, 'utf8'))) ?? 'unreadable'
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : null
      return code === 'ENOENT' || code === 'ENOTDIR' ? null : 'unreadable'
    }
  }

  /**
   * Resolves when the checkpoint is on the disk. Writes run one after another. If the file cannot be written, only the
   * checkpoint is lost, so the error is not reported.
   */
  write(remembered: Checkpoint): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write(remembered))
    return this.#writing
  }

  /** Never rejects. */
  async #write(remembered: Checkpoint): Promise<void> {
    const known = this.read()
    const text = JSON.stringify(remembered)
    if (known && known !== 'unreadable' && (!isLater(remembered, known) || text === JSON.stringify(known))) return
    // A random name, because processes in two containers on one folder may have the same process id.
    const draft = `${this.path}.${randomUUID()}`
    try {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 })
      // On the disk before it has the name: else a power cut may leave an empty file under it.
      await writeFile(draft, text, { mode: 0o600, flush: true })
      await rename(draft, this.path)
      await syncFolder(dirname(this.path))
    } catch {
      // The disk is full or read-only. The checkpoint in memory still counts.
      await rm(draft, { force: true }).catch(() => {})
    }
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function toRemembered(value: unknown): Checkpoint | null {
  if (typeof value !== 'object' || value === null) return null
  const { installation, mark, holds, server } = value as Partial<Checkpoint>
  if (typeof installation !== 'string' || !isCount(mark) || !isCount(holds)) return null
  if (server === null) return { installation, mark, holds, server }
  if (typeof server?.id !== 'string' || !isCount(server.timeline)) return null
  const { id, timeline, isSynchronous } = server
  return { installation, mark, holds, server: { id, timeline, isSynchronous: isSynchronous === true } }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** Facts about a database that are stored outside it. */
export interface KnownPast {
  /** How often all lanes had been held when the backup was made. */
  readonly holds: number
  /** What this machine remembers. */
  readonly remembered: Memory
}

/** What a database that is replaced says of itself. */
export interface Replaced extends Pick<Checkpoint, 'installation' | 'mark' | 'holds'> {
  /** Holds since the backup that people have placed: its audit log has them, and has no others. */
  readonly placed: number
}

/**
 * Whether a replaced database knows everything that happened since the backup. A database that was itself restored or rolled
 * back does not know the messages sent before, so it proves nothing (G12). Pure.
 */
export function knowsAllSince({ holds, remembered }: KnownPast, replaced: Replaced): boolean {
  // After each rollback the hold was placed by no person, but by `restore` or by the service that detected the older state.
  if (replaced.holds - holds !== replaced.placed || remembered === 'unreadable') return false
  return remembered === null || isLater({ ...replaced, server: remembered.server }, remembered)
}

/** SQL: how many more holds placed by people the database `one` has than the database `other`. */
export function placedHolds(one: string, other: string): string {
  const placed = (schema: string) =>
    `(select count(*) from ${schema}.audit where action = 'hold.place' and actor <> 'restore')`
  return `${placed(one)} - ${placed(other)}`
}
