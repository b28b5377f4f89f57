import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, type KeyObject, randomBytes } from 'node:crypto'
import { type SecretPlace, SecretUnreadable } from '../core/ports/secrets.ts'
import { NONCE_BYTES, readSealed, type SealedPieces, TAG_BYTES, writeSealed } from './sealed-text.ts'

export const KEY_BYTES = 32
const CIPHER = 'aes-256-gcm'

/**
 * One key of the ring. Each purpose uses a key derived from it, so that a mistake in one of them reveals nothing about the
 * others.
 */
export class Key {
  /** Derived from the key, so that a key under a wrong id is detected before it seals anything. */
  readonly id: string
  readonly madeAt: number
  readonly #bytes: KeyObject
  readonly #ofPurpose = new Map<string, KeyObject>()

  constructor(bytes: Buffer, madeAt: number) {
    this.#bytes = createSecretKey(bytes)
    this.madeAt = madeAt
    this.id = `k${Buffer.from(hkdfSync('sha256', this.#bytes, '', 'nuncio key id', 4)).toString('hex')}`
  }

  static make(now: number): Key {
    return new Key(randomBytes(KEY_BYTES), now)
  }

  /** For the file of the ring alone. */
  export(): Buffer {
    return this.#bytes.export()
  }

  seal(plain: string, place: SecretPlace): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#keyFor(place), nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(placeBytes(place, this.id))
    const ciphertext = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
    return writeSealed({ keyId: this.id, nonce, ciphertext, tag: cipher.getAuthTag() })
  }

  open({ nonce, ciphertext, tag }: SealedPieces, place: SecretPlace): string {
    const decipher = createDecipheriv(CIPHER, this.#keyFor(place), nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(placeBytes(place, this.id))
    decipher.setAuthTag(tag)
    try {
      return Buffer.concat([decipher.update(ciphertext), decipher.final()]).toString('utf8')
    } catch (error) {
      throw new SecretUnreadable(
        `The ${place.name} of ${place.owner} does not open: it was changed, or copied here from another place.`,
        { cause: error },
      )
    }
  }

  #keyFor({ purpose }: SecretPlace): KeyObject {
    const known = this.#ofPurpose.get(purpose)
    if (known) return known
    const made = createSecretKey(Buffer.from(hkdfSync('sha256', this.#bytes, '', `nuncio ${purpose} v1`, KEY_BYTES)))
    this.#ofPurpose.set(purpose, made)
    return made
  }
}

/** Null when it is no sealed text. */
export function keyIdOf(text: string): string | null {
  return readSealed(text)?.keyId ?? null
}

/** As JSON, which differs for any two places. */
function placeBytes({ purpose, accountId, owner, name }: SecretPlace, keyId: string): Buffer {
  return Buffer.from(JSON.stringify([purpose, accountId, owner, name, keyId]))
}
