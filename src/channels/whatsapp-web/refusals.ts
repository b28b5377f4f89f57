import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { Handover } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { RefusalFacts } from './outcome.ts'
import type { ReadySession } from './session.ts'

/** By number: WhatsApp has taken a message to it. */
const CONTACT_KIND = 'contact'
const DEVICES_KIND = 'devices'
const LOCKED = '463'
const WRONG_DEVICES = '479'
const MOST_CONTACTS = 10_000
const ASKED_AGAIN_MS = 10 * 60_000

interface OfConnection {
  /** The last code, and how many messages in a row it has refused. */
  readonly code: string
  readonly inARow: number
  readonly lastMessage: MessageId
  readonly timesOfMessage: number
}

interface Lock {
  readonly askedAt: Instant
  readonly until: Instant | null
}

/** What WhatsApp has refused lately. Forgotten with the process: then it is counted anew. */
export class Refusals {
  readonly #clock: Clock
  readonly #last = new Map<ConnectionId, OfConnection>()
  readonly #locks = new Map<ConnectionId, Lock>()
  readonly #contacts = new Map<ConnectionId, Set<string>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** WhatsApp has refused a message with this code. */
  async note({ connectionId, messageId, to }: Handover, code: string, ready: ReadySession): Promise<RefusalFacts> {
    const before = this.#last.get(connectionId)
    const isSame = before?.code === code
    const inARow = isSame ? before.inARow + 1 : 1
    const timesOfMessage = isSame && before.lastMessage === messageId ? before.timesOfMessage + 1 : 1
    this.#last.set(connectionId, { code, inARow, lastMessage: messageId, timesOfMessage })
    if (code === WRONG_DEVICES) await this.#forgetDevices(to, ready)
    const isLocked = code === LOCKED
    const lockedUntil = isLocked ? await this.#lockedUntil(connectionId, ready) : null
    const isKnown = isLocked && (await this.#isKnown(to, ready))
    return { now: this.#clock.now(), lockedUntil, isKnown, inARow, timesOfMessage }
  }

  async accepted({ connectionId, to }: Handover, { stored }: ReadySession): Promise<void> {
    this.#last.delete(connectionId)
    const known = this.#contacts.get(connectionId) ?? new Set()
    if (known.has(to)) return
    if (known.size >= MOST_CONTACTS) known.clear()
    this.#contacts.set(connectionId, known.add(to))
    // Only a hint: without it a later refusal is taken for one of a first contact.
    await stored.writeKeys([[CONTACT_KIND, to, JSON.stringify(this.#clock.now())]]).catch(() => {})
  }

  forget(connectionId: ConnectionId): void {
    this.#last.delete(connectionId)
    this.#locks.delete(connectionId)
    this.#contacts.delete(connectionId)
  }

  async #lockedUntil(connectionId: ConnectionId, { socket }: ReadySession): Promise<Instant | null> {
    const now = this.#clock.now()
    const known = this.#locks.get(connectionId)
    const isCurrent = known && (known.until === null || known.until > now) && now - known.askedAt < ASKED_AGAIN_MS
    if (isCurrent) return known.until
    const until = await socket.lockedUntil().catch(() => null)
    this.#locks.set(connectionId, { askedAt: now, until })
    return until
  }

  async #isKnown(to: string, { stored }: ReadySession): Promise<boolean> {
    const found = await stored.readKeys(CONTACT_KIND, [to]).catch(() => [])
    return found.length > 0
  }

  /** The next attempt asks for them, and for new sessions with them. */
  async #forgetDevices(to: string, { stored }: ReadySession): Promise<void> {
    try {
      await stored.writeKeys([[DEVICES_KIND, await stored.readUser(to), null]])
    } catch {
      // Storage is away, and says so itself.
    }
  }
}
