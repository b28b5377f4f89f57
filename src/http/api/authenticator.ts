import { hash } from 'node:crypto'
import type { Intake } from '../../core/ports/intake.ts'
import type { Token } from '../../core/token/token.ts'
import { isWellFormedToken } from '../../core/token/token-format.ts'

// More tokens than one installation uses within minutes; each takes about 200 bytes.
const MAX_REMEMBERED = 2000

/** Finds the token of a request. Its caller checks whether the token may still be used. */
export class Authenticator {
  readonly #intake: Intake
  /**
   * Token text → its SHA-256, so that a busy token is hashed once. Only for tokens that exist, so guesses cannot evict
   * them. It says nothing about validity, so a deletion does not matter here (G7).
   */
  readonly #hashes = new Map<string, Buffer>()

  constructor(intake: Intake) {
    this.#intake = intake
  }

  /** A promise only when storage must be queried; see `Intake.findToken`. */
  findToken(text: string): Token | null | Promise<Token | null> {
    const remembered = this.#hashes.get(text)
    if (remembered) return this.#intake.findToken(remembered)
    if (!isWellFormedToken(text)) return null
    const sha256 = hash('sha256', text, 'buffer')
    const found = this.#intake.findToken(sha256)
    if (found instanceof Promise) return this.#rememberLater(text, sha256, found)
    if (found) this.#remember(text, sha256)
    return found
  }

  async #rememberLater(text: string, sha256: Buffer, lookUp: Promise<Token | null>): Promise<Token | null> {
    const token = await lookUp
    if (token) this.#remember(text, sha256)
    return token
  }

  #remember(text: string, sha256: Buffer): void {
    if (this.#hashes.size >= MAX_REMEMBERED) {
      for (const oldest of this.#hashes.keys()) {
        this.#hashes.delete(oldest)
        break
      }
    }
    this.#hashes.set(text, sha256)
  }
}
