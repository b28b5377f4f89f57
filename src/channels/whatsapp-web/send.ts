import type { Handover, Outcome, StillHolds } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Attempts } from './attempts.ts'
import {
  failureOfSearch,
  failureOfStatus,
  interrupted,
  outcomeOfRelay,
  type RefusalFacts,
  storageAway,
  THREAD_ENDED,
  unsupported,
} from './outcome.ts'
import type { Refusals } from './refusals.ts'
import type { ReadySession, WebSession } from './session.ts'
import type { RelayEnd } from './thread/messages.ts'
import { wireIdOf } from './wire-id.ts'

interface SendParts {
  readonly attempts: Attempts
  readonly refusals: Refusals
  readonly clock: Clock
}

interface Limits {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

const READY_WITHIN_MS = 10_000

/** One attempt: at most one message that may leave. `session` is undefined for a number that was never linked. */
export async function sendByWhatsApp(
  parts: SendParts,
  { handover, session }: { readonly handover: Handover; readonly session: WebSession | undefined },
  limits: Limits,
): Promise<Outcome> {
  const { attempts, clock } = parts
  const { signal, stillHolds } = limits
  const { content } = handover
  if (content.type !== 'message') return rejected(unsupported())
  const mayGoOn = () => !signal.aborted && stillHolds()
  if (!session) return rejected(failureOfStatus({ name: 'unlinked' }, clock.now()))
  const ready = await session.whenReady(READY_WITHIN_MS, signal)
  if (!mayGoOn()) return rejected(interrupted())
  if ('name' in ready) return rejected(failureOfStatus(ready, clock.now()))
  // Rejects when the thread ended, and then nothing was written.
  const found = await unlessAborted(ready.socket.find(handover.to), signal).catch(() => null)
  if (found === null || !mayGoOn()) return rejected(interrupted())
  if (found.kind !== 'found') return rejected(failureOfSearch(found))
  const hasBegun = await attempts.begin(handover, clock.now(), mayGoOn).catch(() => null)
  if (hasBegun === null) return rejected(storageAway())
  if (!hasBegun || !mayGoOn()) return rejected(interrupted())
  const wireId = wireIdOf(handover)
  const end = await relay({ session, ready, wireId, jid: found.jid }, content.text, limits)
  if (end === 'not-left') return rejected(interrupted())
  if (end === 'thread-ended') return THREAD_ENDED
  return settle(parts, { handover, ready, wireId }, end)
}

interface Addressed {
  readonly session: WebSession
  readonly ready: ReadySession
  readonly wireId: string
  readonly jid: string
}

async function relay(
  { session, ready, wireId, jid }: Addressed,
  text: string,
  { signal, stillHolds }: Limits,
): Promise<RelayEnd | 'not-left' | 'thread-ended'> {
  let mayHaveLeft = false
  const mayLeave = (asked: string) => {
    const isAllowed = asked === wireId && !signal.aborted && stillHolds()
    if (isAllowed) mayHaveLeft = true
    return isAllowed
  }
  const cancel = () => ready.socket.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  const order = { jid, wireId, text }
  return session
    .sending(mayLeave, () => ready.socket.relay(order))
    .catch(() => (mayHaveLeft ? ('thread-ended' as const) : ('not-left' as const)))
    .finally(() => signal.removeEventListener('abort', cancel))
}

interface Settled {
  readonly handover: Handover
  readonly ready: ReadySession
  readonly wireId: string
}

async function settle(
  { refusals, clock }: SendParts,
  { handover, ready, wireId }: Settled,
  end: RelayEnd,
): Promise<Outcome> {
  const error = end.kind === 'acked' ? end.error : null
  let facts: RefusalFacts = { now: clock.now(), lockedUntil: null, isKnown: false, inARow: 0, timesOfMessage: 0 }
  if (error !== null) facts = await refusals.note(handover, error, ready)
  const outcome = outcomeOfRelay(end, wireId, facts)
  // Not waited for: what WhatsApp has said must be recorded whatever storage does.
  if (outcome.kind === 'accepted') void refusals.accepted(handover, ready)
  return outcome
}

function unlessAborted<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result | null> {
  if (signal.aborted) return Promise.resolve(null)
  const { promise, resolve } = Promise.withResolvers<null>()
  const stop = () => resolve(null)
  signal.addEventListener('abort', stop, { once: true })
  return Promise.race([running, promise]).finally(() => signal.removeEventListener('abort', stop))
}

function rejected(failure: Extract<Outcome, { kind: 'rejected' }>['failure']): Outcome {
  return { kind: 'rejected', failure }
}
