import { type SecretPlace, type Secrets, SecretUnreadable } from '../core/ports/secrets.ts'
import type { Key } from './key.ts'
import { readSealed } from './sealed-text.ts'

// A key that another process has added is found at once, and a row that nobody can open does not have the file read for
// every message.
const READ_AGAIN_AFTER_MS = 1_000

/** The keys as they are at one moment. */
export interface KeySet {
  /** In the order in which they were made. */
  readonly keys: readonly Key[]
  /** The one that new secrets are sealed with. */
  readonly sealsWith: Key
}

export interface KeySource {
  /** How people find it. */
  readonly place: string
  /** Throws a `Refusal` when it cannot be read. */
  read(): KeySet
}

/** Seals and opens. Follows what the command line changes in the file while it is open. */
export class KeyRing implements Secrets {
  readonly #source: KeySource
  readonly #msNow: () => number
  /** Also those that were dropped since: what was read from the database before may still be sealed with one. */
  readonly #known = new Map<string, Key>()
  #keys: KeySet
  #readAt: number

  constructor(source: KeySource, msNow: () => number = () => performance.now()) {
    this.#source = source
    this.#msNow = msNow
    this.#keys = this.#read()
    this.#readAt = msNow()
  }

  /** How people find it. */
  get place(): string {
    return this.#source.place
  }

  get keys(): KeySet {
    return this.#keys
  }

  /**
   * Secrets are sealed a few times a day, and the file may say since a moment ago that another key is to be used: so it
   * is looked at each time.
   */
  seal(plain: string, place: SecretPlace): string {
    this.readAgain()
    return this.#keys.sealsWith.seal(plain, place)
  }

  open(sealed: string, place: SecretPlace): string {
    const pieces = readSealed(sealed)
    if (!pieces) throw new SecretUnreadable(`The ${place.name} of ${place.owner} is not sealed, so it was not used.`)
    const key = this.#find(pieces.keyId)
    if (!key)
      throw new SecretUnreadable(
        `The ${place.name} of ${place.owner} is sealed with the key ${pieces.keyId}, which is not in ${this.place}.`,
      )
    return key.open(pieces, place)
  }

  isSealed(text: string): boolean {
    return readSealed(text) !== null
  }

  /** Throws a `Refusal` when the file cannot be read any more. */
  readAgain(): void {
    this.#readAt = this.#msNow()
    this.#keys = this.#read()
  }

  #read(): KeySet {
    const found = this.#source.read()
    for (const key of found.keys) this.#known.set(key.id, key)
    return found
  }

  #find(id: string): Key | undefined {
    const known = this.#known.get(id)
    if (known || this.#msNow() - this.#readAt < READ_AGAIN_AFTER_MS) return known
    try {
      this.readAgain()
    } catch {
      // What is known goes on being known; the one who asks hears that this key is not.
    }
    return this.#known.get(id)
  }
}
