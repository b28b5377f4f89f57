import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { Channel, Handover, Outcome, RateLimitDelay } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { CONTACT_LOCK_KIND } from '../../core/ports/watch.ts'
import type { ReadySession } from './session.ts'
import { readWhatsAppWebSettings } from './settings.ts'
import type { ContactLock } from './thread/messages.ts'

/** By number: WhatsApp has taken a message to it. */
export const CONTACT_KIND = 'contact'
/** By number: the first message to it, within the last day. */
export const FIRST_CONTACT_KIND = 'first-contact'
/** The key is the end of the lock: until then WhatsApp lets the number write to no new recipients. */
export const LOCK_KIND = CONTACT_LOCK_KIND.slice('whatsapp-web.'.length)

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
// After a year of silence WhatsApp itself may take the recipient for a new one.
const CONTACT_KEPT_MS = 365 * DAY_MS
const LOCK_OF_UNKNOWN_LENGTH_MS = DAY_MS
const ASKED_AGAIN_MS = 10 * 60_000
// Clocks differ by less than this. A time further ahead was noted by a clock that was wrong.
const MOST_AHEAD_MS = HOUR_MS
/** When a message is decided again whose facts must be read first. They have been read by then. */
const SOON_MS = 1_000
// Far more than may be allowed in a day.
const MOST_FIRSTS = 2_000
const MOST_CONTACTS = 10_000

type Next = Parameters<NonNullable<Channel['rateLimitDelayOf']>>[0]

interface FirstContactsParts {
  readonly memory: ChannelState
  readonly clock: Clock
  /** The session, while it is logged in. */
  readonly findReady: (connectionId: ConnectionId) => ReadySession | null
}

interface Lock {
  readonly until: Instant
  /** WhatsApp itself says that there is one. */
  readonly isSaid: boolean
  /** It says until when, too. Otherwise the end is our guess. */
  readonly isEndSaid: boolean
  /** By the monotonic clock. */
  readonly askedAt: number
}

/**
 * Counts the people that a number writes to for the first time, and knows whether WhatsApp allows it. Each try during a lock of
 * WhatsApp's makes that lock longer, so messages to new recipients wait for its end. Known recipients go on.
 */
export class FirstContacts {
  readonly #parts: FirstContactsParts
  readonly #connections = new Map<ConnectionId, OfConnection>()

  constructor(parts: FirstContactsParts) {
    this.#parts = parts
  }

  /** Answers from memory, and starts to read what is not known yet: `check` waits for that. */
  delayOf({ connectionId, to, settings }: Next, now: Instant): RateLimitDelay | null {
    const of = this.#of(connectionId)
    if (!of.isLoaded) return null
    const lock = of.lockAt(now)
    const { newRecipientsPerDay: allowed } = readWhatsAppWebSettings(settings)
    const { used, nextAt } = allowanceAt(of.firsts, allowed, now)
    if (!lock && nextAt === null) return null
    const isKnown = of.isKnown(to)
    if (isKnown) return null
    if (lock && this.#parts.clock.monotonic() - lock.askedAt >= ASKED_AGAIN_MS) void this.#askAgain(connectionId, of)
    if (isKnown === null) of.lookUp(to)
    const until = isKnown === null ? now + SOON_MS : (lock?.until ?? nextAt ?? now + SOON_MS)
    const scope = 'recipient'
    if (lock) return { scope, until, reason: 'first_contacts_locked', words: null }
    return { scope, until, reason: 'new_recipients', words: allowanceText(used, allowed ?? used) }
  }

  /** The same, right before a message leaves. Rejects when storage is away. */
  async check(next: Next): Promise<RateLimitDelay | null> {
    const of = this.#of(next.connectionId)
    await of.load()
    const delay = this.delayOf(next, this.#parts.clock.now())
    if (!delay || (await of.find(next.to))) return null
    return this.delayOf(next, this.#parts.clock.now())
  }

  /** WhatsApp has refused a message to a recipient that it takes for new. */
  async locked(connectionId: ConnectionId, { socket }: ReadySession): Promise<Lock> {
    const { clock } = this.#parts
    const now = clock.now()
    const of = this.#of(connectionId)
    const known = of.lockAt(now)
    if (known && clock.monotonic() - known.askedAt < ASKED_AGAIN_MS) return known
    const answer = await socket.contactLock().catch(() => null)
    return of.lock(answer, now)
  }

  /** Called after an attempt that may have arrived. Counts at once; never rejects. */
  noteSent(
    { connectionId, to }: Pick<Handover, 'connectionId' | 'to'>,
    { kind }: Pick<Outcome, 'kind'>,
  ): Promise<void> {
    return this.#of(connectionId).noteSent(to, { isTaken: kind === 'accepted' })
  }

  isKnown(connectionId: ConnectionId, to: string): Promise<boolean> {
    return this.#of(connectionId).find(to)
  }

  /** Asks in advance, so that the answer is there when the first message comes. */
  open(connectionId: ConnectionId): void {
    // Storage logs by itself that it is away. The first message asks again.
    this.#of(connectionId).load().catch(ignore)
  }

  close(connectionId: ConnectionId): void {
    this.#connections.delete(connectionId)
  }

  #of(connectionId: ConnectionId): OfConnection {
    const known = this.#connections.get(connectionId)
    if (known) return known
    const made = new OfConnection(connectionId, this.#parts)
    this.#connections.set(connectionId, made)
    return made
  }

  /** WhatsApp may have ended it early. */
  async #askAgain(connectionId: ConnectionId, of: OfConnection): Promise<void> {
    const ready = this.#parts.findReady(connectionId)
    if (!ready) return
    const now = this.#parts.clock.now()
    of.asked()
    const answer = await ready.socket.contactLock().catch(() => null)
    if (answer) await of.refresh(answer, now)
  }
}

/** The first contacts of one connection, as long as this worker holds its lane. */
class OfConnection {
  readonly #id: ConnectionId
  readonly #parts: FirstContactsParts
  readonly #contacts = new Map<string, boolean>()
  readonly #lookedUp = new Set<string>()
  #lock: Lock | null = null
  #loading: Promise<void> | null = null
  /** When the first message to each was sent. */
  readonly firsts = new Map<string, Instant>()
  isLoaded = false

  constructor(id: ConnectionId, parts: FirstContactsParts) {
    this.#id = id
    this.#parts = parts
  }

  /** At once when it is loaded. Rejects when storage is away. */
  load(): Promise<void> {
    this.#loading ??= this.#load().catch((error: unknown) => {
      this.#loading = null
      throw error
    })
    return this.#loading
  }

  lockAt(now: Instant): Lock | null {
    const lock = this.#lock
    const latest = now + LOCK_OF_UNKNOWN_LENGTH_MS
    // The end was guessed by a clock that ran ahead.
    if (lock && !lock.isEndSaid && lock.until > latest) void this.#setLock({ ...lock, until: latest })
    return this.#lock && this.#lock.until > now ? this.#lock : null
  }

  /** Null: it must be looked up. */
  isKnown(to: string): boolean | null {
    return this.firsts.has(to) || (this.#contacts.get(to) ?? null)
  }

  lookUp(to: string): void {
    if (this.#lookedUp.has(to)) return
    this.#lookedUp.add(to)
    this.find(to)
      .catch(ignore)
      .finally(() => this.#lookedUp.delete(to))
  }

  async find(to: string): Promise<boolean> {
    const known = this.isKnown(to)
    if (known !== null) return known
    const found = (await this.#parts.memory.find(CONTACT_KIND, this.#id, to)) !== null
    this.#keep(to, found)
    return found
  }

  async noteSent(to: string, { isTaken }: { readonly isTaken: boolean }): Promise<void> {
    if (this.isKnown(to) && (this.#contacts.get(to) || !isTaken)) return
    const { memory, clock } = this.#parts
    const at = clock.now()
    for (const [other, since] of this.firsts) if (since <= at - DAY_MS) this.firsts.delete(other)
    const wasFirst = this.firsts.has(to)
    // Counted at once, so that the next message is decided with it. Taken off again if the recipient turns out to be known.
    if (!wasFirst) this.firsts.set(to, at)
    try {
      const entry = { connectionId: this.#id, key: to, value: '', at }
      const isNew = isTaken
        ? await memory.add(CONTACT_KIND, { ...entry, remindAt: at + CONTACT_KEPT_MS })
        : (await memory.find(CONTACT_KIND, this.#id, to)) === null
      if (isTaken || !isNew) this.#keep(to, true)
      if (isNew) await memory.add(FIRST_CONTACT_KIND, { ...entry, remindAt: at + DAY_MS })
      else if (!wasFirst) this.firsts.delete(to)
    } catch {
      // Storage logs by itself that it is away. The contact counts in memory as long as this worker has the lane.
    }
  }

  asked(): void {
    if (this.#lock) this.#lock = { ...this.#lock, askedAt: this.#parts.clock.monotonic() }
  }

  /** Locks even if WhatsApp says nothing about a lock: it has refused a message as if there were one. */
  async lock(answer: ContactLock | null, now: Instant): Promise<Lock> {
    const isSaid = answer?.isActive ?? false
    const isEndSaid = isSaid && answer?.until != null
    const until = Math.max(now + SOON_MS, answer?.until ?? now + LOCK_OF_UNKNOWN_LENGTH_MS)
    const lock = { until, isSaid, isEndSaid, askedAt: this.#parts.clock.monotonic() }
    await this.#setLock(lock)
    return lock
  }

  async refresh(answer: ContactLock, now: Instant): Promise<void> {
    if (answer.isActive && answer.until !== null) await this.lock(answer, now)
    // A lock that WhatsApp never confirmed ends by time alone.
    else if (!answer.isActive && this.#lock?.isSaid) await this.#setLock(null)
  }

  async #setLock(lock: Lock | null): Promise<void> {
    const { memory, clock } = this.#parts
    const before = this.#lock
    this.#lock = lock
    if (before?.until === lock?.until) return
    try {
      const stored = await memory.list(LOCK_KIND, { connectionId: this.#id, after: 0, limit: MOST_FIRSTS })
      for (const { position } of stored) await memory.remove(LOCK_KIND, position)
      if (!lock) return
      const { until, isSaid, isEndSaid } = lock
      const value = JSON.stringify({ isSaid, isEndSaid } satisfies StoredLock)
      const entry = { connectionId: this.#id, key: String(until), value, at: clock.now() }
      await memory.add(LOCK_KIND, { ...entry, remindAt: until })
    } catch {
      // Storage logs by itself that it is away. After a restart one message may have to find out again.
    }
  }

  #keep(to: string, isContact: boolean): void {
    if (this.#contacts.size >= MOST_CONTACTS) this.#contacts.clear()
    this.#contacts.set(to, isContact)
  }

  async #load(): Promise<void> {
    const { memory, clock } = this.#parts
    const { firsts, lock } = await readFirstContacts(memory, this.#id)
    const recent = [...firsts].filter(([, at]) => at > clock.now() - DAY_MS)
    for (const [to, at] of recent) this.firsts.set(to, Math.max(at, this.firsts.get(to) ?? 0))
    // Asked again when the first message waits for it.
    this.#lock ??= lock && { ...lock, askedAt: Number.NEGATIVE_INFINITY }
    this.isLoaded = true
  }
}

type StoredLock = Pick<Lock, 'isSaid' | 'isEndSaid'>

/** What is stored of a connection. */
export async function readFirstContacts(
  memory: Pick<ChannelState, 'list'>,
  connectionId: ConnectionId,
): Promise<{
  readonly firsts: ReadonlyMap<string, Instant>
  readonly lock: (StoredLock & { readonly until: Instant; readonly at: Instant }) | null
}> {
  const from = { connectionId, after: 0, limit: MOST_FIRSTS }
  const [firsts, locks] = await Promise.all([memory.list(FIRST_CONTACT_KIND, from), memory.list(LOCK_KIND, from)])
  const last = locks.at(-1)
  return {
    firsts: new Map(firsts.map(({ key, at }) => [key, at])),
    lock: last ? { until: Number(last.key), at: last.at, ...(JSON.parse(last.value) as StoredLock) } : null,
  }
}

/** How much of the allowance is used, and from when on more is allowed; null: now. */
export function allowanceAt(
  firsts: ReadonlyMap<string, Instant>,
  allowed: number | null,
  now: Instant,
): { readonly used: number; readonly nextAt: Instant | null } {
  const recent = [...firsts.values()].filter((at) => at > now - DAY_MS && at <= now + MOST_AHEAD_MS)
  const used = recent.length
  if (allowed === null || used < allowed) return { used, nextAt: null }
  const frees = recent.toSorted((a, b) => a - b)[used - allowed] ?? now
  return { used, nextAt: frees + DAY_MS }
}

function allowanceText(used: number, allowed: number): string {
  const left = Math.max(0, allowed - used)
  return `${used} of ${allowed} new recipients were written to within 24 hours, ${left === 0 ? 'so none is' : left === 1 ? 'so 1 is' : `so ${left} are`} left.`
}

function ignore(): void {}
