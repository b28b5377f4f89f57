import { argon2, randomBytes, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { Refusal } from '../../../core/refusals.ts'

const argon2Of = promisify(argon2)

interface Cost {
  readonly memoryKib: number
  readonly passes: number
}

// About 120 ms of one core and 64 MiB each: expensive for an attacker with a stolen table, acceptable for signing in.
export const COST: Cost = { memoryKib: 65_536, passes: 3 }
// The minimum of OWASP. Nuncio never made a hash below it.
const FLOOR: Cost = { memoryKib: 19_456, passes: 2 }
const MOST: Cost = { memoryKib: 1_048_576, passes: 16 }
const SALT_BYTES = 16
const TAG_BYTES = 32

// Signing in may use two cores and 128 MiB that sending could use.
const AT_ONCE = 2
// At two in 120 ms the last one waits for 1.2 s.
const MAY_WAIT = 20

interface StoredHash extends Cost {
  readonly salt: Buffer
  readonly tag: Buffer
}

/** Compared with when there is no password. It never matches. */
const DUMMY: StoredHash = { ...COST, salt: Buffer.alloc(SALT_BYTES, 1), tag: Buffer.alloc(TAG_BYTES, 1) }

/** Argon2id, at most two at once. Throws `passwords_busy` when the queue is full. */
export class PasswordHasher {
  readonly #cost: Cost
  readonly #waiting: (() => void)[] = []
  #running = 0

  /** Tests pass a smaller cost. */
  constructor(cost: Cost = COST) {
    if (cost.memoryKib < FLOOR.memoryKib || cost.passes < FLOOR.passes)
      throw new Error('The cost of hashing passwords is below the minimum')
    this.#cost = cost
  }

  /** As a PHC string. */
  async hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES)
    const tag = await this.#derive(password, { ...this.#cost, salt })
    return `$argon2id$v=19$m=${this.#cost.memoryKib},t=${this.#cost.passes},p=1$${unpadded(salt)}$${unpadded(tag)}`
  }

  /** Takes the same time when there is no password, so that the time does not reveal which people exist. */
  async isRight(password: string, phc: string | null): Promise<boolean> {
    const stored = phc === null ? null : parse(phc)
    const { tag, ...how } = stored ?? { ...DUMMY, ...this.#cost }
    const isEqual = timingSafeEqual(await this.#derive(password, how), tag)
    return stored !== null && isEqual
  }

  /** True when its parameters differ from those of new hashes. */
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
    // `#release` passes its place to the next one in the queue, so a newcomer cannot take it.
    await new Promise<void>((acquire) => this.#waiting.push(acquire))
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#running -= 1
  }
}

const PHC = /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

/** Null for a hash that Nuncio did not make: too cheap, or so expensive that comparing would stop the service. */
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
