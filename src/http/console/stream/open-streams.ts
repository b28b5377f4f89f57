// A browser holds about six connections to one host, and some people use several browsers.
const MOST_PER_PERSON = 12
const MOST_OF_ALL = 1000

/** How many streams are open, so that nobody can take all connections there are. */
export class OpenStreams {
  readonly #ofPerson = new Map<string, number>()
  #all = 0

  /** False when there are as many as may be. Whoever was counted must be let go once. */
  take(personId: string): boolean {
    const own = this.#ofPerson.get(personId) ?? 0
    if (own >= MOST_PER_PERSON || this.#all >= MOST_OF_ALL) return false
    this.#ofPerson.set(personId, own + 1)
    this.#all += 1
    return true
  }

  letGo(personId: string): void {
    const left = (this.#ofPerson.get(personId) ?? 0) - 1
    if (left > 0) this.#ofPerson.set(personId, left)
    else this.#ofPerson.delete(personId)
    this.#all -= 1
  }
}
