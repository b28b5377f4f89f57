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

const NO_LOCK = { until: null, isSaid: false } as const

interface OfConnection {
  /** The last code, and how many messages in a row it has refused. */
  readonly code: string
  readonly inARow: number
  readonly lastMessage: MessageId
  readonly timesOfMessage: number
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

  constructor({ clock, contacts, note }: RefusalsParts) {
    this.#clock = clock
    this.#contacts = contacts
    this.#note = note
  }

  /** WhatsApp has refused a message with this code. */
  async note({ connectionId, messageId, to }: Handover, code: string, ready: ReadySession): Promise<RefusalFacts> {
    this.#note({ event: 'network.refused', channel: WHATSAPP_WEB, connectionId, messageId, code })
    const before = this.#last.get(connectionId)
    const isSame = before?.code === code
    const inARow = isSame ? before.inARow + 1 : 1
    const timesOfMessage = isSame && before.lastMessage === messageId ? before.timesOfMessage + 1 : 1
    this.#last.set(connectionId, { code, inARow, lastMessage: messageId, timesOfMessage })
    if (code === WRONG_DEVICES) await this.#forgetDevices(to, ready)
    const isLocked = code === LOCKED
    const isKnown = isLocked && (await this.#contacts.isKnown(connectionId, to).catch(() => false))
    const lock = isLocked ? await this.#contacts.locked(connectionId, ready) : NO_LOCK
    return { now: this.#clock.now(), lockedUntil: lock.until, isLockSaid: lock.isSaid, isKnown, inARow, timesOfMessage }
  }

  accepted({ connectionId }: Handover): void {
    this.#last.delete(connectionId)
  }

  forget(connectionId: ConnectionId): void {
    this.#last.delete(connectionId)
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
