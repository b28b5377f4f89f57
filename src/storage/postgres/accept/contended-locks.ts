import type { Candidate } from '../../../core/ports/intake.ts'
import type { Blocked } from './accept-batch.ts'

// False positives are cheap, and end with the first message that is accepted. A missed contended lock delays every batch by 500 ms.
const REMEMBERED_MS = 30_000
const MOST_REMEMBERED = 10_000
const PROBES_PER_LANE = 8
const PROBES_PER_TOKEN = 64

/** The lanes and tokens whose lock another transaction was found to hold. Times are monotonic. */
export class ContendedLocks {
  /** In the order in which they expire. */
  readonly #until = new Map<string, number>()

  isEmpty(now: number): boolean {
    for (const [name, until] of this.#until) {
      if (now < until) return false
      this.#until.delete(name)
    }
    return true
  }

  isContended(candidate: Candidate, now: number): boolean {
    if (this.#until.size === 0) return false
    return this.#isTaken(laneName(candidate), now) || this.#isTaken(tokenName(candidate), now)
  }

  note(candidate: Candidate, by: Blocked['by'], now: number): void {
    const name = by === 'lane' ? laneName(candidate) : tokenName(candidate)
    this.#until.delete(name)
    this.#until.set(name, now + REMEMBERED_MS)
    if (this.#until.size <= MOST_REMEMBERED) return
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest)
      break
    }
  }

  /** Its lock was free. */
  forget(candidate: Candidate): void {
    if (this.#until.size === 0) return
    this.#until.delete(laneName(candidate))
    this.#until.delete(tokenName(candidate))
  }

  /** A few requests for each lock, in their order, so that those behind a lock that is still held leave room for the others. */
  split<Job extends { readonly candidate: Candidate }>(jobs: readonly Job[], most: number): SplitJobs<Job> {
    const now = performance.now()
    const counts = new Map<string, number>()
    const isFull = (name: string, limit: number) => {
      const count = counts.get(name) ?? 0
      counts.set(name, count + 1)
      return count >= limit
    }
    const probes: Job[] = []
    const others: Job[] = []
    for (const job of jobs) {
      const token = tokenName(job.candidate)
      const isOneTooMany =
        probes.length >= most ||
        isFull(laneName(job.candidate), PROBES_PER_LANE) ||
        (this.#isTaken(token, now) && isFull(token, PROBES_PER_TOKEN))
      if (isOneTooMany) others.push(job)
      else probes.push(job)
    }
    return { probes, others }
  }

  #isTaken(name: string, now: number): boolean {
    const until = this.#until.get(name)
    if (until === undefined) return false
    if (now < until) return true
    this.#until.delete(name)
    return false
  }
}

interface SplitJobs<Job> {
  readonly probes: readonly Job[]
  readonly others: Job[]
}

function laneName({ accountId, from }: Candidate): string {
  return `lane ${accountId}/${from}`
}

function tokenName({ tokenId }: Candidate): string {
  return `token ${tokenId}`
}
