import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Refusal } from '../../../core/refusals.ts'

const argon2Of = promisify(argon2)

interface Cost {
  readonly memoryKib: number
  readonly passes: number
}

// About 120 ms of one core and 64 MiB for each: dear for whoever has stolen the table, bearable for who signs in.
export const COST: Cost = { memoryKib: 65_536, passes: 3 }
// What OWASP names as the least. A hash below it was not made by us.
const FLOOR: Cost = { memoryKib: 19_456, passes: 2 }
const MOST: Cost = { memoryKib: 1_048_576, passes: 16 }
const SALT_BYTES = 16
const TAG_BYTES = 32

// Two cores and 128 MiB are what signing in may take from sending.
const AT_ONCE = 2
// At two in 120 ms the last of them waits for 1.2 s.
const MAY_WAIT = 20

interface StoredHash extends Cost {
  readonly salt: Buffer
  readonly tag: Buffer
}

/** To compare with where there is no password. Nobody is let in by it. */
const DUMMY: StoredHash = { ...COST, salt: Buffer.alloc(SALT_BYTES, 1), tag: Buffer.alloc(TAG_BYTES, 1) }

/** Argon2id, two at once at most. Whoever comes when the queue is full is told so: `passwords_busy`. */
export class PasswordHasher {
  readonly #cost: Cost
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** Tests that do not look at the cost take a smaller one. */
  constructor(cost: Cost = COST) {
    if (cost.memoryKib < FLOOR.memoryKib || cost.passes < FLOOR.passes)
      throw new Error('Passwords must not be hashed more cheaply than that')
    this.#cost = cost
  }

  /** As a PHC string. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const tag = await this.#derive(password, { ...this.#cost, salt })
    return `$argon2id$v=19$m=${this.#cost.memoryKib},t=${this.#cost.passes},p=1$${unpadded(salt)}$${unpadded(tag)}`
  }

  /** Takes as long when there is no password to compare with, so that the time tells nobody who exists. */
  async isRight(password: string, phc: string | null): Promise<boolean> {
    const stored = phc === null ? null : parse(phc)
    const { tag, ...how } = stored ?? { ...DUMMY, ...this.#cost }
    const isEqual = timingSafeEqual(await this.#derive(password, how), tag)
    return stored !== null && isEqual
  }

  /** True when it was made with other parameters than a new one would be. */
  isOutdated(phc: string): boolean {
    const stored = parse(phc)
    return stored?.memoryKib !== this.#cost.memoryKib || stored.passes !== this.#cost.passes
  }

  async #derive(password: string, { memoryKib, passes, salt }: Omit<StoredHash, 'tag'>): Promise<Buffer> {
    await this.#acquire()
    try {
      const message = Buffer.from(password.normalize('NFC'))
      const how = { nonce: salt, parallelism: 1, tagLength: TAG_BYTES, memory: memoryKib, passes }
      return await argon2Of('argon2id', { message, ...how })
    } finally {
      this.#release()
    }
  }

  async #acquire(): Promise<void> {
    if (this.#running < AT_ONCE) {
      this.#running += 1
      return
    }
    if (this.#waiting.length >= MAY_WAIT) throw new Refusal('passwords_busy')
    // Whoever leaves hands the place over, so nobody slips in between.
    await new Promise<void>((acquire) => this.#waiting.push(acquire))
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running -= 1
  }
}

const PHC = /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

/** Null for what we would not have made: too cheap, or so dear that comparing would stop the service. */
function parse(phc: string): StoredHash | null {
  const [, memory, passes, salt, tag] = PHC.exec(phc) ?? []
  if (!(memory && passes && salt && tag)) return null
  const cost = { memoryKib: Number(memory), passes: Number(passes) }
  if (cost.memoryKib < FLOOR.memoryKib || cost.passes < FLOOR.passes) return null
  if (cost.memoryKib > MOST.memoryKib || cost.passes > MOST.passes) return null
  return { ...cost, salt: Buffer.from(salt, 'base64'), tag: Buffer.from(tag, 'base64') }
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
