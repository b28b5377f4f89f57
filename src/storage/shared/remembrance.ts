import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/** What a process knows of the database that it has worked with. */
export interface Remembered {
  /** Drawn when the database was made, and copied with it. */
  readonly installation: string
  /** Counts on with every heartbeat of anybody. */
  readonly mark: number
  /** Counts the promotions of standbys; null where there are none (SQLite). */
  readonly timeline: number | null
  /** Whether every commit waited for a standby, so that a promoted one has all of them. */
  readonly isSynchronous: boolean
}

export type Finding =
  | { readonly is: 'as-remembered' }
  /** It may know nothing of messages that were sent: nothing may be sent until a person has looked (G12). */
  | { readonly is: 'gone-back'; readonly reason: string }
  /** It must not be used at all. */
  | { readonly is: 'not-ours'; readonly reason: string }

const FINE: Finding = { is: 'as-remembered' }

/** Compares what is remembered with what is found. Pure. */
export function judgeFound(remembered: Remembered | null, found: Remembered): Finding {
  if (remembered === null) return FINE
  if (found.installation !== remembered.installation)
    return { is: 'not-ours', reason: 'it is the database of another installation' }
  const before = remembered.timeline ?? 0
  const now = found.timeline ?? 0
  if (now < before) {
    return {
      is: 'not-ours',
      reason: `it is an old primary (timeline ${now}): a standby has been promoted since (timeline ${before})`,
    }
  }
  if (found.mark < remembered.mark) return { is: 'gone-back', reason: 'an older state of the database was restored' }
  if (now > before && !remembered.isSynchronous) {
    return {
      is: 'gone-back',
      reason: 'a standby was promoted that did not confirm every commit, so the last ones may be missing',
    }
  }
  return FINE
}

/** Outlives the process, in a file beside the data. Kept by all processes on the folder: the highest mark counts. */
export class RemembranceFile {
  readonly #path: string

  constructor(path: string) {
    this.#path = path
  }

  /** Null when nothing is remembered, or nothing that can be read. */
  read(): Remembered | null {
    try {
      return toRemembered(JSON.parse(readFileSync(this.#path, 'utf8')))
    } catch {
      return null
    }
  }

  /** A file that cannot be written costs only the memory: whoever runs the service is not troubled with it. */
  write(remembered: Remembered): void {
    const known = this.read()
    const isOlder =
      known !== null &&
      known.installation === remembered.installation &&
      (known.timeline ?? 0) >= (remembered.timeline ?? 0) &&
      known.mark > remembered.mark
    if (isOlder) return
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      const draft = `${this.#path}.${process.pid}`
      writeFileSync(draft, JSON.stringify(remembered), { mode: 0o600 })
      renameSync(draft, this.#path)
    } catch {
      // Read-only or full: what is in memory still counts.
    }
  }
}

function toRemembered(value: unknown): Remembered | null {
  if (typeof value !== 'object' || value === null) return null
  const { installation, mark, timeline, isSynchronous } = value as Partial<Remembered>
  if (typeof installation !== 'string' || typeof mark !== 'number') return null
  return {
    installation,
    mark,
    timeline: typeof timeline === 'number' ? timeline : null,
    isSynchronous: isSynchronous === true,
  }
}
