import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** What a process knows of the database that it has worked with. */
export interface Checkpoint {
  /** Drawn when the database was made, and copied with it. */
  readonly installation: string
  /** Counts on with every heartbeat of anybody. */
  readonly mark: number
  /** How often all lanes have been held. Whatever happened before the last time, a person has looked after. */
  readonly holds: number
  /** Null where the database is a file of ours (SQLite). */
  readonly server: RememberedServer | null
}

/** Null where nobody knows how far it had got. */
export function readable(memory: Memory): Checkpoint | null {
  return memory === 'unreadable' ? null : memory
}

export interface RememberedServer {
  /** Drawn when its data folder was made. Its standbys have the same. */
  readonly id: string
  /** Counts the promotions of standbys. */
  readonly timeline: number
  /** Whether the last commit that is remembered was confirmed by a standby, so that a promoted one has it. */
  readonly isSynchronous: boolean
}

/** What is read of it. Null: nothing is remembered. Unreadable: something was, and nobody knows what. */
export type Memory = Checkpoint | 'unreadable' | null

export type Finding =
  | { readonly is: 'as-remembered' }
  /** It may know nothing of messages that were sent: nothing may be sent until a person has looked (G12). */
  | { readonly is: 'gone-back'; readonly reason: string }
  /** It must not be used at all. */
  | { readonly is: 'not-ours'; readonly reason: string }

const FINE: Finding = { is: 'as-remembered' }

/** Compares what is remembered with what is found. Pure. */
export function checkFound(remembered: Memory, found: Checkpoint): Finding {
  if (remembered === 'unreadable')
    return {
      is: 'gone-back',
      reason: 'how far it had got cannot be read in remembered.json, so it may be an older state of the database',
    }
  // What is remembered of a file says nothing of a server: the data have moved there.
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

/** Somebody else has found it gone back before us, or a person has held the lanes: all has been looked after. */
export function wasHeldSince(remembered: Checkpoint | null, found: Checkpoint): boolean {
  return remembered !== null && found.holds > remembered.holds
}

/** Of two that know the same database: whether the one has seen it later. Always, when it is not the same. */
export function isLater(one: Checkpoint, other: Checkpoint): boolean {
  if (one.installation !== other.installation || (one.server === null) !== (other.server === null)) return true
  const { before, now } = timelines(other, one)
  if (now !== before) return now > before
  // After a hold the mark goes on from wherever the database has gone back to.
  return one.holds === other.holds ? one.mark >= other.mark : one.holds > other.holds
}

/** Equal when they say nothing: timelines of different servers have nothing to do with each other. */
function timelines(remembered: Checkpoint, found: Checkpoint): { readonly before: number; readonly now: number } {
  if (!remembered.server || remembered.server.id !== found.server?.id) return { before: 0, now: 0 }
  return { before: remembered.server.timeline, now: found.server.timeline }
}

/** Outlives the process, in a file beside the data. All processes on the folder keep it together: the latest counts. */
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
   * Resolves when it is on the disk; of several that come together one follows the other. A file that cannot be written costs
   * only the memory: whoever runs the service is not troubled with it.
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
    // Not by the number of the process: in two containers on one folder it may be the same.
    const draft = `${this.path}.${randomUUID()}`
    try {
      await mkdir(dirname(this.path), { recursive: true, mode: 0o700 })
      // On the disk before it has the name: else a power cut may leave an empty file under it.
      await writeFile(draft, text, { mode: 0o600, flush: true })
      await rename(draft, this.path)
      await syncFolder(dirname(this.path))
    } catch {
      // Read-only or full: what is in memory still counts.
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
