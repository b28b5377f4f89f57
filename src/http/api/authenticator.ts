import { hash } from 'node:crypto'
import type { Intake } from '../../core/ports/intake.ts'
import type { Token } from '../../core/token/token.ts'
import { isWellFormedToken } from '../../core/token/token-format.ts'

// More tokens than one installation uses within minutes; each takes about 200 bytes.
const MAX_REMEMBERED = 2000

/** Finds the token that a request carries. Whether it may still be used is for the caller to judge. */
export class Authenticator {
  readonly #intake: Intake
  /**
   * Token text → its SHA-256, so that a busy token is hashed once. Only of tokens that exist: guesses cannot push out
   * the others. It says nothing about validity, so a deletion need not be heard of here (G7).
   */
  readonly #hashes = new Map<string, Buffer>()

  constructor(intake: Intake) {
    this.#intake = intake
  }

  /** A promise only where storage must look it up; see `Intake.findToken`. */
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
