import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { Handover } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { FirstContacts } from './first-contacts.ts'
import { WHATSAPP_WEB } from './name.ts'
import type { RefusalFacts } from './outcome.ts'
import type { ReadySession } from './session.ts'

const DEVICES_KIND = 'devices'
const LOCKED = '463'
const WRONG_DEVICES = '479'

// Far more than are tried again at a time.
const MOST_MESSAGES = 1_000

const NO_LOCK = { until: null, isSaid: false } as const

interface OfConnection {
  /** The last code, and how many messages in a row it has refused. */
  readonly code: string
  readonly inARow: number
}

interface RefusalsParts {
  readonly clock: Clock
  readonly contacts: FirstContacts
  readonly note: (event: JournalEvent) => void
}

/** What WhatsApp has refused lately. Forgotten with the process: then it is counted anew. */
export class Refusals {
  readonly #clock: Clock
  readonly #contacts: FirstContacts
  readonly #note: (event: JournalEvent) => void
  readonly #last = new Map<ConnectionId, OfConnection>()
  /** How often the form of a message was refused, until the message ends. */
  readonly #ofForm = new Map<MessageId, number>()

  constructor({ clock, contacts, note }: RefusalsParts) {
    this.#clock = clock
    this.#contacts = contacts
    this.#note = note
  }

  /** WhatsApp has refused a message with this code. */
  async note({ connectionId, messageId, to }: Handover, code: string, ready: ReadySession): Promise<RefusalFacts> {
    this.#note({ event: 'network.refused', channel: WHATSAPP_WEB, connectionId, messageId, code })
    const before = this.#last.get(connectionId)
    const inARow = before?.code === code ? before.inARow + 1 : 1
    this.#last.set(connectionId, { code, inARow })
    const isOfForm = code === WRONG_DEVICES
    const timesOfForm = isOfForm ? this.#countForm(messageId) : 0
    if (isOfForm) await this.#forgetDevices(to, ready)
    const isLocked = code === LOCKED
    const isKnown = isLocked && (await this.#contacts.isKnown(connectionId, to).catch(() => false))
    const lock = isLocked ? await this.#contacts.locked(connectionId, ready) : NO_LOCK
    return { now: this.#clock.now(), lockedUntil: lock.until, isLockSaid: lock.isSaid, isKnown, inARow, timesOfForm }
  }

  accepted({ connectionId, messageId }: Handover): void {
    this.#last.delete(connectionId)
    this.#ofForm.delete(messageId)
  }

  forget(connectionId: ConnectionId): void {
    this.#last.delete(connectionId)
  }

  #countForm(messageId: MessageId): number {
    const times = (this.#ofForm.get(messageId) ?? 0) + 1
    this.#ofForm.delete(messageId)
    // The second time ends it.
    if (times > 1) return times
    const [oldest] = this.#ofForm.keys()
    if (oldest !== undefined && this.#ofForm.size >= MOST_MESSAGES) this.#ofForm.delete(oldest)
    this.#ofForm.set(messageId, times)
    return times
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
