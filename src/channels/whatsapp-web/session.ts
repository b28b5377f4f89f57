import type { HeldLane } from '../../core/ports/channel.ts'
import { SecretUnreadable } from '../../core/ports/secrets.ts'
import { type SessionLogin, UNANSWERED } from '../../core/ports/session-requests.ts'
import { VERSION_REFUSED } from './client-version.ts'
import { type AfterClose, backoffMs, CONNECTING, decideAfterClose, type SessionStatus } from './close-code.ts'
import { countedRepeats } from './counted-repeats.ts'
import { keepStatus, readKeptStatus } from './kept-status.ts'
import { WHATSAPP_WEB } from './name.ts'
import { SentContents } from './sent-contents.ts'
import type { SessionParts } from './session-parts.ts'
import { SessionRequests, type UnlinkObstacle } from './session-requests.ts'
import { SessionVersion } from './session-version.ts'
import { StoredSession } from './stored-session.ts'
import { type Deadline, deadlineIn } from './thread/deadline.ts'
import type { HostedSocket, SocketOwner } from './thread/host.ts'
import type { RelayEnd, SocketChange, SocketOrder } from './thread/messages.ts'
import { unlinkFormer } from './unlink-former.ts'

/** A session that is logged in, and what is stored of it. */
export interface ReadySession {
  readonly socket: HostedSocket
  readonly stored: StoredSession
  readonly contents: SentContents
  /** Writes the message at most once, and only while `mayLeave` says so. Rejects when the thread ends. */
  readonly relay: (order: SocketOrder, mayLeave: () => boolean) => Promise<RelayEnd>
}

/** `session` is undefined for a number that was never linked. */
export function stateOf(session: WebSession | undefined): ReadySession | SessionStatus {
  return session?.state ?? { name: 'unlinked' }
}

const LOGIN_USUALLY_MS = 5_000
const LOGIN_WITHIN_MS = 60_000
const UNREADABLE_RETRY_MS = 60_000
const NOT_INSTALLED_RETRY_MS = 10_000
const RESTARTS_COUNTED_MS = 60_000
// Long enough for a commit on a busy machine, and far shorter than a claim.
const LEAVES_WITHIN_MS = 250
// As long as a relay waits for WhatsApp's ack.
const SENDS_WITHIN_MS = 20_000
const UNLINKS_WITHIN_MS = 4_000

/**
 * The session of one connection while this worker holds its lane.
 *
 *              stored credentials          login, and what waited has come
 *   UNLINKED ◀─────────────────── CONNECTING ───────────────▶ READY
 *      ▲ the phone unlinked it      │  ▲  ▲                     │
 *      └────────────────────────────┤  │  └─────────────────────┘ the line ended: back-off
 *                                   ▼  │ after a time that follows from WhatsApp's code
 *            BANNED, CLIENT REFUSED, TAKEN ELSEWHERE, NOT INSTALLED, UNREADABLE
 *
 * - TAKEN ELSEWHERE never ends by itself: two clients that log in again would log each other out for ever. It is stored, so that
 *   a restart does not end it either.
 * - A socket is used once. It ends when the database refuses a write, because another worker has the lane then.
 */
export class WebSession {
  readonly #lane: HeldLane
  readonly #parts: SessionParts
  /** Why the session is not ready, if it is not. */
  #status: SessionStatus = CONNECTING
  #ready: ReadySession | null = null
  #noted = ''
  #socket: HostedSocket | null = null
  #endLogin: () => void = () => {}
  #cancelRetry: () => void = () => {}
  #cancelLoginLimit: () => void = () => {}
  #wakeWaiting = Promise.withResolvers<void>()
  #mayLeave: (wireId: string) => boolean = () => false
  #failures = 0
  #connectingSince = 0
  #restartedAt: number[] = []
  /** Resolves when nothing is being sent. */
  #sent: Promise<unknown> = Promise.resolve()
  #written: Promise<void> = Promise.resolve()
  readonly #requests: SessionRequests
  readonly #version: SessionVersion
  #isClosed = false
  // The number of the current socket: one that closes while the next is being opened must not be taken for the next.
  #generation = 0

  constructor(lane: HeldLane, parts: SessionParts) {
    this.#lane = lane
    this.#parts = parts
    this.#version = new SessionVersion(parts.versions)
    this.#requests = new SessionRequests({ ...parts, lane, session: this })
  }

  get isReady(): boolean {
    return this.#ready !== null
  }

  open(): void {
    this.#changed(this.#status.name, null)
    void this.#connect()
  }

  /** The ready session, or why it is not ready. */
  get state(): ReadySession | SessionStatus {
    return this.#ready ?? this.#status
  }

  /** True shortly after a login has begun: the session will be ready soon. */
  get isLoggingIn(): boolean {
    const sinceMs = this.#parts.clock.monotonic() - this.#connectingSince
    return this.#status.name === 'connecting' && sinceMs < LOGIN_USUALLY_MS
  }

  /** A person has asked for something, such as to unlink it. */
  requested(): void {
    this.#requests.check()
  }

  /** Logs in at once, even from a status that never ends by itself. */
  async connectNow(): Promise<void> {
    if (this.#ready || this.#socket) return
    this.#cancelRetry()
    this.#failures = 0
    this.#status = CONNECTING
    await this.#connect({ isForced: true })
  }

  async wasLinkedBy(request: string): Promise<boolean> {
    const stored = await StoredSession.open(this.#parts.store, this.#lane, () => {})
    return (await stored?.wasLinkedBy(request)) ?? false
  }

  /** Replaces the device by the one that a phone has just linked. Durable when it resolves. `connectNow` then uses it. */
  async adopt(credentials: string, request: string): Promise<void> {
    const late = Promise.withResolvers<void>()
    const cancel = this.#parts.clock.after(SENDS_WITHIN_MS, late.resolve)
    await Promise.race([this.#sent, late.promise])
    cancel()
    await this.#leave({ logsOut: false })
    this.#status = CONNECTING
    const stored = await StoredSession.open(this.#parts.store, this.#lane, () => {})
    if (!stored || this.#isClosed) throw new Error('the session is not of this worker any more')
    await stored.adopt(credentials, request)
  }

  /** Unlinks the device and removes what is stored. Returns why WhatsApp may not know of it; null: WhatsApp has confirmed it. */
  async unlink(): Promise<UnlinkObstacle | null> {
    await this.connectNow()
    const found = await this.whenReady(UNLINKS_WITHIN_MS, new AbortController().signal)
    const obstacle = 'name' in found ? found.name : null
    const isLoggedOut = await this.#leave({ logsOut: obstacle === null })
    await this.#remove()
    this.#set({ name: 'unlinked' }, null)
    // The phone had unlinked it before, so nothing is left to be said.
    return isLoggedOut || obstacle === 'unlinked' ? null : (obstacle ?? UNANSWERED)
  }

  /** Drops the socket; what it still reports is ignored. Returns whether WhatsApp has confirmed the logout. */
  async #leave(how: { readonly logsOut: boolean }): Promise<boolean> {
    this.#generation += 1
    this.#cancelRetry()
    this.#cancelLoginLimit()
    this.#endLogin()
    this.#ready = null
    const socket = this.#socket
    this.#socket = null
    return (await socket?.close(how)) ?? false
  }

  /** Resolves with the session once it is ready; if it cannot be, or is not within `mostMs`, with its status. */
  async whenReady(mostMs: number, signal: AbortSignal): Promise<ReadySession | SessionStatus> {
    const late = Promise.withResolvers<void>()
    const cancel = this.#parts.clock.after(mostMs, late.resolve)
    const abort = () => late.resolve()
    signal.addEventListener('abort', abort)
    let isLate = signal.aborted
    void late.promise.then(() => {
      isLate = true
    })
    while (!this.#ready && this.#status.name === 'connecting' && !isLate)
      await Promise.race([this.#wakeWaiting.promise, late.promise])
    cancel()
    signal.removeEventListener('abort', abort)
    return this.#ready ?? this.#status
  }

  async #relay(socket: HostedSocket, order: SocketOrder, mayLeave: () => boolean): Promise<RelayEnd> {
    this.#mayLeave = (wireId) => wireId === order.wireId && mayLeave()
    const relaying = socket.relay(order).finally(() => {
      this.#mayLeave = () => false
    })
    this.#sent = relaying.catch(() => {})
    return relaying
  }

  /**
   * Nothing can leave any more once it resolves. With `remove` it unlinks the device and removes what is stored. Returns why
   * WhatsApp may still know of the removed device; null if it does not, or nothing was removed.
   */
  async close({ remove }: { readonly remove: boolean }): Promise<UnlinkObstacle | null> {
    const obstacle = this.isReady ? UNANSWERED : this.#status.name
    this.#isClosed = true
    this.#mayLeave = () => false
    this.#note('closed', null)
    const logsOut = remove && this.isReady
    const [isLoggedOut] = await Promise.all([this.#leave({ logsOut }), this.#requests.stop()])
    if (!remove) return null
    const isKnown = isLoggedOut || obstacle === 'unlinked' || !(await this.#isStored())
    return (await this.#remove()) && !isKnown ? obstacle : null
  }

  async #isStored(): Promise<boolean> {
    try {
      return (await this.#parts.store.open(this.#lane))?.credentials != null
    } catch (error) {
      return error instanceof SecretUnreadable
    }
  }

  /** False when nothing was removed: another worker has the lane, all lanes are held, or storage is away. */
  #remove(): Promise<boolean> {
    return this.#parts.store.remove(this.#lane).catch(() => false)
  }

  async #connect({ isForced = false } = {}): Promise<void> {
    const generation = ++this.#generation
    this.#connectingSince = this.#parts.clock.monotonic()
    const isOld = () => this.#isClosed || generation !== this.#generation
    const { host, logins, url } = this.#parts
    if (!host.isInstalled()) return this.#set({ name: 'not-installed' }, NOT_INSTALLED_RETRY_MS)
    const restsMs = host.restsMs()
    if (restsMs > 0) return this.#retryIn(restsMs)
    const endLogin = await logins.take()
    if (isOld()) return endLogin()
    this.#endLogin = endLogin
    try {
      const stored = await StoredSession.open(this.#parts.store, this.#lane, () => this.#giveUp(generation))
      if (isOld()) return
      // Another worker has the lane, or all lanes are held.
      if (!stored) return this.#retryIn(this.#backoff())
      if (isForced) await stored.forgetStatus()
      const kept = await readKeptStatus(stored, this.#parts.clock.now())
      if (isOld()) return
      if (kept) return this.#set(kept.status, kept.retryInMs)
      const credentials = await stored.readCredentials()
      if (isOld()) return
      if (credentials === null) return this.#set({ name: 'unlinked' }, null)
      const version = await this.#version.choose(stored)
      if (isOld()) return
      // A login would log out another worker that has the lane by now.
      if (!this.#lane.stillHolds()) return this.#retryIn(this.#backoff())
      this.#socket = host.open({ url, credentials, version }, this.#ownerOf(stored, generation))
      // Otherwise a server that stops answering halfway would keep the session, and its turn to log in, for ever.
      this.#cancelLoginLimit = this.#parts.clock.after(LOGIN_WITHIN_MS, () => this.#giveUp(generation))
    } catch (error) {
      if (!isOld()) this.#failed(error)
    } finally {
      // A login goes on until the socket is ready or closed.
      if (generation !== this.#generation || this.#socket === null) endLogin()
    }
  }

  #ownerOf(stored: StoredSession, generation: number): SocketOwner {
    const { connectionId, accountId, stillHolds } = this.#lane
    const isCurrent = () => !this.#isClosed && generation === this.#generation
    const contents = new SentContents(stored, this.#parts.clock)
    return {
      stillHolds: () => isCurrent() && stillHolds(),
      readKeys: (kind, ids) => stored.readKeys(kind, ids),
      writeKeys: (keys) => stored.writeKeys(keys),
      writeCredentials: (text) => stored.writeCredentials(text),
      keepReceipt: (receipt) => this.#parts.receipts.keep(connectionId, receipt),
      ...countedRepeats({ contents, isCurrent, isBlocked: (to) => this.#parts.blocked.isBlocked(accountId, to) }),
      mayLeave: (wireId): Deadline | null =>
        isCurrent() && stillHolds() && this.#mayLeave(wireId) ? deadlineIn(LEAVES_WITHIN_MS) : null,
      changed: (change) => {
        if (isCurrent()) this.#follow(change, { stored, contents })
      },
    }
  }

  #follow(change: SocketChange, known: Pick<ReadySession, 'stored' | 'contents'>): void {
    if (change.kind === 'closed') this.#lineEnded(change, known.stored)
    if (change.kind !== 'ready') return
    const socket = this.#socket
    if (!socket) return
    this.#cancelLoginLimit()
    this.#endLogin()
    this.#failures = 0
    this.#ready = { ...known, socket, relay: (order, mayLeave) => this.#relay(socket, order, mayLeave) }
    this.#status = CONNECTING
    this.#changed('ready', null, { at: this.#parts.clock.now(), device: change.device, version: change.version })
    void unlinkFormer({ ...this.#parts, version: this.#version.wanted }, known.stored, this.#lane)
    this.#version.keep(known.stored, change.version)
    void known.contents.sweep()
  }

  #lineEnded({ code, expiresInMs }: Extract<SocketChange, { kind: 'closed' }>, stored: StoredSession): void {
    const { clock } = this.#parts
    this.#ready = null
    this.#socket = null
    this.#cancelLoginLimit()
    this.#endLogin()
    this.#failures += 1
    const now = clock.monotonic()
    const restarts = this.#restartedAt.filter((at) => now - at < RESTARTS_COUNTED_MS)
    this.#restartedAt = code === 515 ? [...restarts, now] : restarts
    const decided = decideAfterClose({
      code,
      expiresInMs,
      failures: this.#failures,
      restarts: this.#restartedAt.length,
      now: clock.now(),
      random: clock.random(),
    })
    if (code === VERSION_REFUSED) {
      this.#tryAnotherVersion(decided, code)
      return
    }
    this.#set(decided.status, decided.reconnectAfterMs, code)
    const generation = this.#generation
    void keepStatus(stored, decided.status).then((isFormer) => {
      if (isFormer && !this.#isClosed && generation === this.#generation) this.#retryIn(0)
    })
  }

  #tryAnotherVersion(otherwise: AfterClose, code: number): void {
    this.#set(CONNECTING, null, code)
    const generation = this.#generation
    void this.#version.findAnother().then((isThere) => {
      if (this.#isClosed || generation !== this.#generation) return
      if (isThere) return void this.#connect()
      this.#set(otherwise.status, otherwise.reconnectAfterMs)
      // The event was noted when the line closed, so only the row is written.
      this.#writeStatus(code)
    })
  }

  #failed(error: unknown): void {
    if (error instanceof SecretUnreadable) this.#set({ name: 'unreadable' }, UNREADABLE_RETRY_MS)
    // Storage logs by itself that it is away.
    else this.#retryIn(this.#backoff())
  }

  #backoff(): number {
    this.#failures += 1
    return backoffMs({ failures: this.#failures, random: this.#parts.clock.random() })
  }

  /** For when the database has refused a write, because another worker has the lane, and when a login does not end. */
  #giveUp(generation: number): void {
    if (generation !== this.#generation) return
    this.#generation += 1
    this.#ready = null
    const socket = this.#socket
    this.#socket = null
    this.#cancelLoginLimit()
    this.#endLogin()
    void socket?.close({ logsOut: false })
    if (!this.#isClosed) this.#retryIn(this.#backoff())
  }

  #retryIn(ms: number): void {
    this.#set(CONNECTING, ms)
  }

  #set(status: SessionStatus, retryInMs: number | null, code: number | null = null): void {
    this.#status = status
    if (status.name !== this.#noted || code !== null) this.#changed(status.name, code)
    this.#cancelRetry()
    this.#cancelRetry = () => {}
    if (retryInMs !== null && !this.#isClosed)
      this.#cancelRetry = this.#parts.clock.after(retryInMs, () => {
        this.#status = CONNECTING
        void this.#connect()
      })
  }

  #changed(status: string, code: number | null, login: SessionLogin | null = null): void {
    this.#noted = status
    const woken = this.#wakeWaiting
    this.#wakeWaiting = Promise.withResolvers()
    woken.resolve()
    this.#note(status, code)
    this.#writeStatus(code, login)
  }

  #note(status: string, code: number | null): void {
    // Work that ends after the close would otherwise make the session count as open.
    if (this.#isClosed && status !== 'closed') return
    const { connectionId } = this.#lane
    this.#parts.note({ event: 'session.changed', channel: WHATSAPP_WEB, connectionId, status, code })
  }

  /** Stores the status, for people to see. Writes go one after the other, so the last one stays. */
  #writeStatus(code: number | null, login: SessionLogin | null = null): void {
    const { store, clock } = this.#parts
    const status = this.#ready ? 'ready' : this.#status.name
    const refusedUntil = this.#status.name === 'banned' ? this.#status.until : null
    const written = { status, since: clock.now(), code, refusedUntil }
    // Storage logs by itself that it is away.
    this.#written = this.#written.then(() => store.writeStatus(this.#lane, written, login)).catch(() => {})
  }
}
