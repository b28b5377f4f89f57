import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { Handover } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { FirstContacts } from './first-contacts.ts'
import { WHATSAPP_WEB } from './name.ts'
import type { RefusalFacts } from './outcome.ts'
import type { ReadySession } from './session.ts'
import { WRONG_DEVICES } from './thread/devices.ts'

const LOCKED = '463'
const TOO_FAST = '429'

// Far more messages or recipients than are retried at the same time.
const MOST_COUNTED = 1_000
// A higher count makes no difference.
const MOST_RECIPIENTS = 10

const NO_LOCK = { until: null, isSaid: false } as const

interface OfConnection {
  /** The last code, and how many messages in a row it has refused. */
  readonly code: string
  readonly inARow: number
  /** The recipients of these messages. */
  readonly recipients: Set<string>
}

interface RefusalsParts {
  readonly clock: Clock
  readonly contacts: FirstContacts
  readonly note: (event: JournalEvent) => void
}

/** Counts what WhatsApp has refused lately. In memory: a new process starts at zero. */
export class Refusals {
  readonly #clock: Clock
  readonly #contacts: FirstContacts
  readonly #note: (event: JournalEvent) => void
  readonly #last = new Map<ConnectionId, OfConnection>()
  /** How often the form of a message was refused, until the message ends. */
  readonly #ofForm = new Counts<MessageId>()
  /** How often each recipient was written to too fast, until a message to it is taken. */
  readonly #tooFast = new Map<ConnectionId, Counts<string>>()

  constructor({ clock, contacts, note }: RefusalsParts) {
    this.#clock = clock
    this.#contacts = contacts
    this.#note = note
  }

  /** WhatsApp has refused a message with this code. */
  async note({ connectionId, messageId, to }: Handover, code: string, ready: ReadySession): Promise<RefusalFacts> {
    this.#note({ event: 'network.refused', channel: WHATSAPP_WEB, connectionId, messageId, code })
    const before = this.#last.get(connectionId)
    const { inARow, recipients } = before?.code === code ? before : { inARow: 0, recipients: new Set<string>() }
    if (recipients.size < MOST_RECIPIENTS) recipients.add(to)
    this.#last.set(connectionId, { code, inARow: inARow + 1, recipients })
    const isOfForm = code === WRONG_DEVICES
    const isLocked = code === LOCKED
    const isKnown = isLocked && (await this.#contacts.isKnown(connectionId, to).catch(() => false))
    const lock = isLocked ? await this.#contacts.locked(connectionId, ready) : NO_LOCK
    return {
      now: this.#clock.now(),
      lockedUntil: lock.until,
      isLockSaid: lock.isSaid,
      isKnown,
      inARow: inARow + 1,
      recipientsInARow: recipients.size,
      timesTooFast: code === TOO_FAST ? this.#countTooFast(connectionId, to) : 0,
      timesOfForm: isOfForm ? this.#countForm(messageId) : 0,
    }
  }

  accepted({ connectionId, messageId, to }: Handover): void {
    this.#last.delete(connectionId)
    this.#ofForm.delete(messageId)
    this.#tooFast.get(connectionId)?.delete(to)
  }

  forget(connectionId: ConnectionId): void {
    this.#last.delete(connectionId)
    this.#tooFast.delete(connectionId)
  }

  #countTooFast(connectionId: ConnectionId, to: string): number {
    const times = this.#tooFast.get(connectionId) ?? new Counts<string>()
    this.#tooFast.set(connectionId, times)
    return times.add(to)
  }

  #countForm(messageId: MessageId): number {
    const times = this.#ofForm.add(messageId)
    // The second time ends the message.
    if (times > 1) this.#ofForm.delete(messageId)
    return times
  }
}

/** Counts by key. When it is full, it forgets the key that was counted longest ago. */
class Counts<Key> {
  readonly #times = new Map<Key, number>()

  add(key: Key): number {
    const times = (this.#times.get(key) ?? 0) + 1
    this.#times.delete(key)
    const [oldest] = this.#times.keys()
    if (oldest !== undefined && this.#times.size >= MOST_COUNTED) this.#times.delete(oldest)
    this.#times.set(key, times)
    return times
  }

  delete(key: Key): void {
    this.#times.delete(key)
  }
}
