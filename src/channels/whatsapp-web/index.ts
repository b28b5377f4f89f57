import type { ConnectionId, Instant } from '../../core/ids.ts'
import { MESSAGE_TYPES } from '../../core/message/message.ts'
import type {
  Channel,
  ChannelEvents,
  ChannelSessions,
  Evidence,
  HeldLane,
  OpenQuestion,
  RateLimitDelay,
} from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { SessionStore } from '../../core/ports/session-store.ts'
import { StateCleanup } from '../receipts/state-cleanup.ts'
import { ATTEMPT_KIND, Attempts, EVIDENCE_WAIT_MS, MESSAGE_KIND, TAKEN_KIND } from './attempts.ts'
import { type ClientVersion, ClientVersions } from './client-version.ts'
import { CONTACT_KIND, FIRST_CONTACT_KIND, FirstContacts, LOCK_KIND } from './first-contacts.ts'
import { LOGINS_A_SECOND, LOGINS_AT_ONCE, LoginTurns } from './login-turns.ts'
import { Lookups } from './lookups.ts'
import { WHATSAPP_WEB } from './name.ts'
import { failureOfStatus } from './outcome.ts'
import { prepareAttachment } from './prepare.ts'
import { Receipts } from './receipts.ts'
import { Refusals } from './refusals.ts'
import { sendByWhatsApp } from './send.ts'
import { SentContents } from './sent-contents.ts'
import { type ReadySession, stateOf, WebSession } from './session.ts'
import type { SessionParts } from './session-parts.ts'
import type { UnlinkObstacle } from './session-requests.ts'
import { parseWhatsAppWebSettings } from './settings.ts'
import { StoredSession } from './stored-session.ts'
import { ThreadHost } from './thread/host.ts'

interface WhatsAppWebParts extends Pick<SessionParts, 'url' | 'blocked'> {
  readonly memory: ChannelState
  readonly sessions: SessionStore
  readonly clock: Clock
  /** Where the packages of the channel were installed. */
  readonly folder: string
  /** The root key of a simulator's certificates, in base64; null: WhatsApp's own. */
  readonly rootKey: string | null
  /** Uploads files, and asks for the version of WhatsApp Web. */
  readonly guarded: GuardedCall
  /** The version to log in as; null: the last one that WhatsApp took. */
  readonly version: ClientVersion | null
  /** Called with events that no request caused. */
  readonly note?: (event: JournalEvent) => void
}

// It leaves within a second, and WhatsApp has 20 to answer.
const CALL_BUDGET_MS = 30_000
// Most logins take less.
const LOGIN_MS = 250
const FORGOTTEN_KINDS = [MESSAGE_KIND, ATTEMPT_KIND, TAKEN_KIND, CONTACT_KIND, FIRST_CONTACT_KIND, LOCK_KIND]
// As long as any login may take. A short failure of the network is over by then.
const UNLINKS_WITHIN_MS = 60_000
const HOLDS_CHECKED_MS = 1_000
const SWEPT_EVERY_MS = 24 * 3_600_000
const PAIRINGS_AT_ONCE = 3

/** Numbers that send as linked devices of their phones, as WhatsApp Web does. */
export function createWhatsAppWeb(parts: WhatsAppWebParts): Channel {
  const { memory, clock, folder, rootKey, url, blocked, guarded, version, note = () => {} } = parts
  const attempts = new Attempts(memory)
  const receipts = new Receipts({ memory, clock, attempts, note })
  const lookups = new Lookups(clock)
  const contacts = new FirstContacts({ memory, clock, findReady: (id) => readyOf(held.find(id)) })
  const refusals = new Refusals({ clock, contacts, note })
  const cleanup = new StateCleanup(memory, clock, FORGOTTEN_KINDS)
  const host = new ThreadHost({ folder, rootKey, clock, channel: WHATSAPP_WEB, note, sessions: () => held.count })
  const logins = new LoginTurns({ mostAtOnce: LOGINS_AT_ONCE, mostASecond: LOGINS_A_SECOND, clock })
  const pairings = new LoginTurns({ mostAtOnce: PAIRINGS_AT_ONCE, mostASecond: LOGINS_A_SECOND, clock })
  // A service without the channel asks the database nothing for it. It may be installed while the service runs.
  let events: ChannelEvents | null = null
  const begin = () => {
    if (!events) return
    receipts.start(events)
    cleanup.start()
    events = null
  }
  const versions = new ClientVersions({ set: version, url, guarded, clock })
  const held = new HeldSessions({
    store: parts.sessions,
    blocked,
    host,
    logins,
    pairings,
    receipts,
    versions,
    clock,
    url,
    note,
    onOpen: (connectionId) => {
      begin()
      contacts.open(connectionId)
    },
    onClosed: (connectionId) => {
      refusals.forget(connectionId)
      contacts.close(connectionId)
    },
  })
  return {
    name: WHATSAPP_WEB,
    capabilities: {
      types: MESSAGE_TYPES,
      maxTextLength: null,
      maxCaptionLength: null,
      recognisesRepeat: false,
      evidenceWaitMs: EVIDENCE_WAIT_MS,
      callBudgetMs: CALL_BUDGET_MS,
    },
    parseSettings: parseWhatsAppWebSettings,
    async start(given) {
      events = given
      if (host.isInstalled()) begin()
    },
    async stop() {
      events = null
      for (const stopped of [cleanup, logins, pairings, versions]) stopped.stop()
      await host.stop()
      await receipts.stop()
    },
    sessions: held,
    isAvailable: () => host.isInstalled(),
    prepare: (handover, signal) =>
      prepareAttachment(
        { guarded, clock, isLoopbackTaken: rootKey !== null },
        { handover, session: held.find(handover.connectionId) },
        signal,
      ),
    rateLimitDelayOf: (next, now) => delayOf(held.find(next.connectionId), now) ?? contacts.delayOf(next, now),
    send: (handover, signal, stillHolds) =>
      sendByWhatsApp(
        { attempts, contacts, lookups, refusals, clock },
        { handover, session: held.find(handover.connectionId) },
        { signal, stillHolds },
      ),
    reconcile: (open) => reconcile({ attempts, contacts, clock }, open),
  }
}

interface ReconcileParts {
  readonly attempts: Attempts
  readonly contacts: FirstContacts
  readonly clock: Clock
}

async function reconcile({ attempts, contacts, clock }: ReconcileParts, open: OpenQuestion): Promise<Evidence> {
  // Storage logs by itself that it is away. What is not known now may be known later.
  const evidence = await attempts.reconcile(open, clock.now()).catch(() => ({ kind: 'nothing-yet' }) as const)
  if (evidence.kind === 'accepted') await contacts.noteSent(open, evidence)
  if (evidence.kind === 'nothing-ever') await contacts.noteSent(open, { kind: 'unknown' })
  return evidence
}

function readyOf(session: WebSession | undefined): ReadySession | null {
  const state = stateOf(session)
  return 'name' in state ? null : state
}

/** No attempt begins while the session is not ready: it would have to wait for it, and the recipient may be blocked meanwhile. */
function delayOf(session: WebSession | undefined, now: Instant): RateLimitDelay | null {
  const state = stateOf(session)
  if (!('name' in state)) return null
  const { code, words, retryAfterMs } = failureOfStatus(state, now)
  const waitMs = session?.isLoggingIn ? LOGIN_MS : (retryAfterMs ?? 0)
  return { scope: 'connection', until: now + waitMs, reason: code, words }
}

interface HeldParts extends SessionParts {
  readonly onOpen: (connectionId: ConnectionId) => void
  readonly onClosed: (connectionId: ConnectionId) => void
}

/** The sessions of the lanes that this worker holds. */
class HeldSessions implements ChannelSessions {
  readonly #parts: HeldParts
  readonly #sessions = new Map<ConnectionId, WebSession>()
  readonly #cancelSweep = new Map<ConnectionId, () => void>()

  constructor(parts: HeldParts) {
    this.#parts = parts
  }

  get count(): number {
    return this.#sessions.size
  }

  find(connectionId: ConnectionId): WebSession | undefined {
    return this.#sessions.get(connectionId)
  }

  open(lane: HeldLane): void {
    this.#cancelSweep.get(lane.connectionId)?.()
    this.#parts.onOpen(lane.connectionId)
    const session = new WebSession(lane, this.#parts)
    this.#sessions.set(lane.connectionId, session)
    session.open()
    this.#sweepDaily(lane, session)
  }

  async close(...[lane, { remove, signal }]: Parameters<ChannelSessions['close']>): Promise<void> {
    const known = this.#sessions.get(lane.connectionId)
    this.#sessions.delete(lane.connectionId)
    this.#cancelSweep.get(lane.connectionId)?.()
    this.#cancelSweep.delete(lane.connectionId)
    this.#parts.onClosed(lane.connectionId)
    if (!remove || known?.isReady) {
      this.#noteFailure(lane, (await known?.close({ remove })) ?? null)
      return
    }
    await known?.close({ remove: false })
    await this.#openToUnlink(lane, signal)
  }

  requested(connectionId: ConnectionId): void {
    this.#sessions.get(connectionId)?.requested()
  }

  /** Sweeps each day while the lane is held, and once when the session becomes ready. */
  #sweepDaily(lane: HeldLane, session: WebSession): void {
    const cancel = this.#parts.clock.after(SWEPT_EVERY_MS, () => {
      void this.#sweep(lane, session)
      this.#sweepDaily(lane, session)
    })
    this.#cancelSweep.set(lane.connectionId, cancel)
  }

  async #sweep(lane: HeldLane, session: WebSession): Promise<void> {
    const { store, clock } = this.#parts
    // A session that is not ready, maybe for weeks, is swept as well. If it cannot be opened now, it is swept later.
    const stored = readyOf(session) ? null : await StoredSession.open(store, lane, () => {}).catch(() => null)
    const contents = readyOf(session)?.contents ?? (stored && new SentContents(stored, clock))
    await contents?.sweep()
  }

  /**
   * The connection was removed while its session was not ready. A device can only be unlinked by itself, or on the phone. A
   * worker that stops meanwhile, or loses the lane, leaves that to the next owner.
   */
  async #openToUnlink(lane: HeldLane, signal: AbortSignal): Promise<void> {
    const session = new WebSession(lane, this.#parts)
    void session.connectNow()
    const lost = new AbortController()
    const cancel = this.#whenLost(lane, () => lost.abort())
    await session.whenReady(UNLINKS_WITHIN_MS, AbortSignal.any([signal, lost.signal]))
    cancel()
    const remove = !signal.aborted && lane.stillHolds()
    this.#noteFailure(lane, await session.close({ remove }))
  }

  /** No event reports that a lane was lost, so this polls. */
  #whenLost(lane: HeldLane, lost: () => void): () => void {
    let cancel = () => {}
    const again = () => {
      cancel = this.#parts.clock.after(HOLDS_CHECKED_MS, () => (lane.stillHolds() ? again() : lost()))
    }
    again()
    return () => cancel()
  }

  #noteFailure({ connectionId }: HeldLane, obstacle: UnlinkObstacle | null): void {
    if (!obstacle) return
    this.#parts.note({ event: 'session.unlink_failed', channel: WHATSAPP_WEB, connectionId, status: obstacle })
  }
}
