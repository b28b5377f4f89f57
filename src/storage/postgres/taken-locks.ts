import type { Candidate } from '../../core/ports/intake.ts'
import type { Hindered } from './accept-batch.ts'

// Being suspected wrongly costs a lane hardly anything, and it ends with the first message that gets through. But a
// lock that is taken and not suspected costs everybody half a second.
const REMEMBERED_MS = 30_000
const MOST_REMEMBERED = 10_000

/** Which lanes and tokens somebody else was found to hold the lock of. Times are monotonic. */
export class TakenLocks {
  readonly #until = new Map<string, number>()

  get isEmpty(): boolean {
    return this.#until.size === 0
  }

  hinder(candidate: Candidate, now: number): boolean {
    if (this.#until.size === 0) return false
    return this.#isTaken(laneName(candidate), now) || this.#isTaken(tokenName(candidate), now)
  }

  note(candidate: Candidate, by: Hindered['by'], now: number): void {
    const name = by === 'lane' ? laneName(candidate) : tokenName(candidate)
    this.#until.delete(name)
    this.#until.set(name, now + REMEMBERED_MS)
    if (this.#until.size <= MOST_REMEMBERED) return
    for (const oldest of this.#until.keys()) {
      this.#until.delete(oldest)
      break
    }
  }

  /** It has got through. */
  forget(candidate: Candidate): void {
    if (this.#until.size === 0) return
    this.#until.delete(laneName(candidate))
    this.#until.delete(tokenName(candidate))
  }

  #isTaken(name: string, now: number): boolean {
    const until = this.#until.get(name)
    if (until === undefined) return false
    if (now < until) return true
    this.#until.delete(name)
    return false
  }
}

export function laneName({ accountId, from }: Candidate): string {
  return `lane ${accountId}/${from}`
}

export function tokenName({ tokenId }: Candidate): string {
  return `token ${tokenId}`
}
