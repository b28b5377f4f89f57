import type { HeldLane } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { SecretUnreadable } from '../../core/ports/secrets.ts'
import type { SessionRequest, SessionRequestProgress, UNANSWERED } from '../../core/ports/session-requests.ts'
import type { SessionStore } from '../../core/ports/session-store.ts'
import { type ClientVersions, VERSION_REFUSED, type WantedVersion } from './client-version.ts'
import type { SessionStatus } from './close-code.ts'
import type { LoginTurns } from './login-turns.ts'
import { Pairing, type PairingEnd } from './pairing.ts'
import type { ThreadHost } from './thread/host.ts'

/** Why WhatsApp may not know that a device was unlinked. */
export type UnlinkObstacle = SessionStatus['name'] | typeof UNANSWERED

/** The session that the requests are about: see `WebSession`. */
interface RequestedSession {
  connectNow(): Promise<void>
  whenReady(mostMs: number, signal: AbortSignal): Promise<{ readonly socket: unknown } | SessionStatus>
  wasLinkedBy(request: string): Promise<boolean>
  adopt(credentials: string, request: string): Promise<void>
  unlink(): Promise<UnlinkObstacle | null>
}

interface RequestsParts {
  readonly versions: ClientVersions
  readonly store: SessionStore
  readonly host: ThreadHost
  readonly clock: Clock
  readonly url: string
  readonly pairings: LoginTurns
  readonly lane: HeldLane
  readonly session: RequestedSession
}

// A person waits for the result, and must be able to cancel as quickly.
const CHECKED_EVERY_MS = 2_000
const LOGIN_WITHIN_MS = 60_000
// What the lane waits for while its session is not ready.
const WAITS = [
  'connection_away',
  'device_unlinked',
  'number_banned',
  'session_taken',
  'client_refused',
  'channel_not_installed',
  'session_unreadable',
]

/** Carries out what people request of a session, one request at a time, while this worker holds the lane. */
export class SessionRequests {
  readonly #parts: RequestsParts
  #running: { readonly id: string; readonly abort: AbortController; readonly done: Promise<void> } | null = null
  #checking: Promise<void> | null = null
  #isStopped = false

  constructor(parts: RequestsParts) {
    this.#parts = parts
  }

  /** A request was made or cancelled. */
  check(): void {
    this.#checking ??= this.#check()
      // Storage logs by itself that it is away. The lane asks again.
      .catch(() => {})
      .finally(() => {
        this.#checking = null
      })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#running?.abort.abort()
    await this.#running?.done
  }

  async #check(): Promise<void> {
    const request = await this.#parts.store.findRequest(this.#parts.lane)
    const running = this.#running
    if (running && running.id !== request?.id) {
      running.abort.abort()
      await running.done
    }
    if (this.#isStopped || !request) return
    if (this.#running) return this.#watch(request)
    const abort = new AbortController()
    const stopWatching = this.#checkLater()
    const done = this.#carryOut(request, abort.signal)
      // The database has refused the rest, or the thread has ended.
      .catch((error: unknown) =>
        this.#end(request, { end: error instanceof SecretUnreadable ? 'unreadable' : 'failed' }),
      )
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        stopWatching()
        this.#running = null
      })
    this.#running = { id: request.id, abort, done }
  }

  #checkLater(): () => void {
    let cancel = () => {}
    const again = () => {
      cancel = this.#parts.clock.after(CHECKED_EVERY_MS, () => {
        again()
        this.check()
      })
    }
    again()
    return () => cancel()
  }

  /** A link that the phone has confirmed is finished even if no person watches any more. */
  async #watch(request: SessionRequest): Promise<void> {
    const { state } = request.progress
    const isConfirmed = state === 'confirmed' || state === 'logging-in'
    if (isConfirmed || request.watchedUntil > this.#parts.clock.now()) return
    if (await this.#end(request, { end: 'unwatched' })) this.#running?.abort.abort()
  }

  async #carryOut(request: SessionRequest, signal: AbortSignal): Promise<void> {
    const { session, host } = this.#parts
    // A session that cannot be read can be unlinked as well.
    const wasLinked = request.kind !== 'unlink' && (await session.wasLinkedBy(request.id))
    if (!wasLinked && request.watchedUntil <= this.#parts.clock.now()) await this.#end(request, { end: 'unwatched' })
    else if (!host.isInstalled()) await this.#end(request, { end: 'not-installed' })
    else if (request.kind === 'unlink') await this.#unlink(request)
    else if (request.kind === 'use-here' || wasLinked) await this.#logIn(request, signal)
    else await this.#link(request, signal)
  }

  async #unlink(request: SessionRequest): Promise<void> {
    // From here on it cannot be cancelled.
    if (!(await this.#report(request, { state: 'logging-in' }))) return
    const obstacle = await this.#parts.session.unlink()
    await this.#end(request, obstacle ? { end: 'done-here-only', detail: obstacle } : { end: 'done' })
  }

  async #link(request: SessionRequest, signal: AbortSignal): Promise<void> {
    const { pairings, versions } = this.#parts
    const turn = pairings.take()
    const endTurn = await Promise.race([turn, aborted(signal)])
    if (!endTurn) return void turn.then((end) => end())
    try {
      if (signal.aborted || !(await this.#report(request, { state: 'connecting' }))) return
      const version = versions.choose(null)
      let end = await this.#pairAs(version, request, signal)
      if (isTooOld(end)) {
        const isThere = await Promise.race([versions.findAnother(version?.version ?? null), aborted(signal)])
        if (signal.aborted) return
        if (isThere) end = await this.#pairAs(versions.choose(null), request, signal)
      }
      if (end !== 'linked') {
        if (end) await this.#end(request, end)
        return
      }
    } finally {
      endTurn()
    }
    await this.#logIn(request, signal)
  }

  #pairAs(version: WantedVersion | null, request: SessionRequest, signal: AbortSignal): ReturnType<Pairing['run']> {
    const { session, lane } = this.#parts
    const pairing = new Pairing(
      {
        ...this.#parts,
        version,
        stillHolds: () => !signal.aborted && lane.stillHolds(),
        report: (progress, code) => this.#report(request, progress, code),
        adopt: (credentials) => session.adopt(credentials, request.id),
      },
      { number: lane.number, byCode: request.kind === 'code' },
    )
    return pairing.run(signal)
  }

  async #logIn(request: SessionRequest, signal: AbortSignal): Promise<void> {
    const { session } = this.#parts
    if (signal.aborted || !(await this.#report(request, { state: 'logging-in' }))) return
    await session.connectNow()
    const found = await session.whenReady(LOGIN_WITHIN_MS, signal)
    if ('socket' in found) await this.#end(request, { end: 'done' })
    else if (signal.aborted) return
    else if (found.name === 'connecting') await this.#end(request, { end: 'login-pending' })
    else await this.#end(request, { end: 'failed', detail: found.name })
  }

  #end(request: SessionRequest, end: PairingEnd): Promise<boolean> {
    return this.#report(request, { state: 'ended', ...end })
  }

  #report({ id }: SessionRequest, progress: SessionRequestProgress, code?: string): Promise<boolean> {
    const { store, lane, clock } = this.#parts
    const isDone = progress.end === 'done' || progress.end === 'done-here-only'
    const endsWaits = isDone ? WAITS : []
    return store.report(lane, { id, progress, endsWaits, at: clock.now(), ...(code !== undefined && { code }) })
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null)
    signal.addEventListener('abort', () => resolve(null), { once: true })
  })
}

function isTooOld(end: PairingEnd | 'linked' | null): boolean {
  return end !== null && end !== 'linked' && end.end === 'failed' && end.detail === String(VERSION_REFUSED)
}
