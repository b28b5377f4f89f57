import { InterruptibleSleep } from '../../core/interruptible-sleep.ts'
import type { Failure, Handover, Outcome, StillHolds } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Attempts } from './attempts.ts'
import type { FirstContacts } from './first-contacts.ts'
import type { Lookups } from './lookups.ts'
import {
  deferred,
  failureOfSearch,
  failureOfStatus,
  interrupted,
  lookingUp,
  mediaNotReady,
  outcomeOfRelay,
  type RefusalFacts,
  storageAway,
  THREAD_ENDED,
} from './outcome.ts'
import type { Refusals } from './refusals.ts'
import { type ReadySession, stateOf, type WebSession } from './session.ts'
import { readWhatsAppWebSettings } from './settings.ts'
import type { MessageFields, RelayEnd, SocketOrder } from './thread/messages.ts'
import { wireIdOf } from './wire-id.ts'

interface SendParts {
  readonly attempts: Attempts
  readonly lookups: Lookups
  readonly contacts: FirstContacts
  readonly refusals: Refusals
  readonly clock: Clock
}

interface Limits {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

// The lane has just checked that the recipient is not blocked. An attempt that has not written its message by then never does (G13).
const LEAVES_WITHIN_MS = 1_000
// Short, because it is part of that second.
const TYPES_LEAST_MS = 300
const TYPES_MORE_MS = 300

/** One attempt: at most one message that may leave. `session` is undefined for a number that was never linked. */
export async function sendByWhatsApp(
  parts: SendParts,
  { handover, session }: { readonly handover: Handover; readonly session: WebSession | undefined },
  { signal, stillHolds }: Limits,
): Promise<Outcome> {
  const { contacts, lookups, clock } = parts
  const until = clock.monotonic() + LEAVES_WITHIN_MS
  const mayLeave = () => !signal.aborted && stillHolds() && clock.monotonic() < until
  const ready = stateOf(session)
  if (!mayLeave()) return rejected(interrupted())
  if ('name' in ready) return rejected(failureOfStatus(ready, clock.now()))
  // The lane decided from memory, and what it needed may have been read only after that.
  const delay = await contacts.check(handover).catch(() => 'storage-away' as const)
  if (delay === 'storage-away') return rejected(storageAway())
  if (delay) return rejected(deferred(delay, clock.now()))
  const found = await lookups.find(ready.socket, handover, signal)
  if (!mayLeave()) return rejected(interrupted())
  if (found === 'running') return rejected(lookingUp())
  if (found.kind !== 'found') return rejected(failureOfSearch(found))
  await show({ handover, ready, jid: found.jid }, { clock, signal })
  const wireId = wireIdOf(handover)
  const begun = await begin(parts, { handover, ready, wireId }, mayLeave)
  if (begun.kind === 'failed') return rejected(begun.failure)
  const order = { jid: found.jid, wireId, fields: begun.fields }
  const end = await relay(ready, order, { signal, mayLeave })
  if (end === 'not-left') return rejected(interrupted())
  if (end === 'thread-ended') {
    void contacts.noteSent(handover, THREAD_ENDED)
    return THREAD_ENDED
  }
  return settle(parts, { handover, ready, wireId }, end)
}

/** As a person would be seen, where the connection is set so. */
async function show(
  { handover, ready, jid }: Pick<Settled, 'handover' | 'ready'> & { readonly jid: string },
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { typing, presence: isOnline } = readWhatsAppWebSettings(handover.settings)
  const types = typing && handover.content.type === 'message'
  ready.socket.show({ isOnline, typesTo: types ? jid : null })
  if (!types || signal.aborted) return
  const sleep = new InterruptibleSleep(clock)
  const interrupt = () => sleep.interrupt()
  signal.addEventListener('abort', interrupt)
  await sleep.sleep(TYPES_LEAST_MS + clock.random() * TYPES_MORE_MS)
  signal.removeEventListener('abort', interrupt)
}

type Begun =
  | { readonly kind: 'begun'; readonly fields: MessageFields }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** Notes the attempt, and what the message is sent as: both are on disk before it leaves. */
async function begin(
  { attempts, clock }: SendParts,
  { handover, ready: { contents }, wireId }: Settled,
  isWanted: () => boolean,
): Promise<Begun> {
  const { content, to } = handover
  try {
    const fields =
      content.type === 'message'
        ? { extendedTextMessage: { text: content.text } }
        : (await contents.find(wireId))?.fields
    if (!fields) return { kind: 'failed', failure: mediaNotReady() }
    const [hasBegun] = await Promise.all([
      attempts.begin(handover, clock.now(), isWanted),
      // That of an attachment is there already.
      content.type === 'message' ? contents.keep(wireId, { to, fields }) : null,
    ])
    return hasBegun && isWanted() ? { kind: 'begun', fields } : { kind: 'failed', failure: interrupted() }
  } catch {
    return { kind: 'failed', failure: storageAway() }
  }
}

async function relay(
  ready: ReadySession,
  order: SocketOrder,
  { signal, mayLeave }: { readonly signal: AbortSignal; readonly mayLeave: () => boolean },
): Promise<RelayEnd | 'not-left' | 'thread-ended'> {
  let mayHaveLeft = false
  const grant = () => {
    const isAllowed = mayLeave()
    if (isAllowed) mayHaveLeft = true
    return isAllowed
  }
  const cancel = () => ready.socket.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  return ready
    .relay(order, grant)
    .catch(() => (mayHaveLeft ? ('thread-ended' as const) : ('not-left' as const)))
    .finally(() => signal.removeEventListener('abort', cancel))
}

interface Settled {
  readonly handover: Handover
  readonly ready: ReadySession
  readonly wireId: string
}

async function settle(
  { contacts, refusals, clock }: SendParts,
  { handover, ready, wireId }: Settled,
  end: RelayEnd,
): Promise<Outcome> {
  const error = end.kind === 'acked' ? end.error : null
  let facts = noFacts(clock.now())
  if (error !== null) facts = await refusals.note(handover, error, ready)
  const outcome = outcomeOfRelay(end, wireId, facts)
  if (outcome.kind === 'accepted') refusals.accepted(handover)
  // Not waited for: what WhatsApp has said must be recorded whatever storage does.
  if (outcome.kind !== 'rejected') void contacts.noteSent(handover, outcome)
  return outcome
}

function noFacts(now: number): RefusalFacts {
  return {
    now,
    lockedUntil: null,
    isLockSaid: false,
    isKnown: false,
    inARow: 0,
    recipientsInARow: 0,
    timesTooFast: 0,
    timesOfForm: 0,
  }
}

function rejected(failure: Failure): Outcome {
  return { kind: 'rejected', failure }
}
