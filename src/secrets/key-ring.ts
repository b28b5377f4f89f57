import { type SecretPlace, type Secrets, SecretUnreadable } from '../core/ports/secrets.ts'
import type { Key } from './key.ts'
import { readSealed } from './sealed-text.ts'

// Short enough to find a key that another process has added, and long enough that a row without a key does not cause a read
// of the file for every message.
const READ_AGAIN_AFTER_MS = 1_000

/** A snapshot of the keys. */
export interface KeySet {
  /** In the order in which they were made. */
  readonly keys: readonly Key[]
  /** The key that seals new secrets. */
  readonly sealsWith: Key
}

export interface KeySource {
  /** Where it is, for people. */
  readonly place: string
  /** Throws a `Refusal` when it cannot be read. */
  read(): KeySet
}

/** Seals and opens secrets. Picks up changes that the command line makes to the file. */
export class KeyRing implements Secrets {
  readonly #source: KeySource
  readonly #msNow: () => number
  /** Includes keys that were removed since: secrets that were read from the database before may be sealed with one. */
  readonly #known = new Map<string, Key>()
  #keys: KeySet
  #readAt: number

  constructor(source: KeySource, msNow: () => number = () => performance.now()) {
    this.#source = source
    this.#msNow = msNow
    this.#keys = this.#read()
    this.#readAt = msNow()
  }

  /** Where it is, for people. */
  get place(): string {
    return this.#source.place
  }

  get keys(): KeySet {
    return this.#keys
  }

  /**
   * Reads the file each time, because it may have just changed the key to use. Secrets are sealed only a few times a day.
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
      // The known keys stay usable; the caller gets the error for this one.
    }
    return this.#known.get(id)
  }
}
