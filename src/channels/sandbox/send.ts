import { access } from 'node:fs/promises'
import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { Failure, Handover, Outcome, StillHolds } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { commandOf, failureWords, type SandboxCommand } from './commands.ts'
import { networkIdOf, type SandboxInbox } from './inbox.ts'
import type { PlannedReceipt, SandboxReceipts } from './receipts.ts'
import { readSandboxSettings } from './settings.ts'

const BUSY_ATTEMPTS = 2
const SLOW_MS = 5_000
const AWAY_MS = 10_000
const REFUSED_LATER_MS = 2_000

export interface SendParts {
  readonly memory: ChannelState
  readonly clock: Clock
  readonly inbox: SandboxInbox
  readonly receipts: SandboxReceipts
  readonly crash: (connectionId: ConnectionId) => void
}

interface Limits {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

/** One delivery into the inbox, or the failure that the recipient's number asks for. */
export async function sendToSandbox(parts: SendParts, handover: Handover, limits: Limits): Promise<Outcome> {
  try {
    return await deliver(parts, handover, limits)
  } catch (error) {
    // Writing the inbox failed, and it is unknown whether it was written.
    return {
      kind: 'unknown',
      words: `the inbox could not be written: ${error instanceof Error ? error.message : String(error)}`,
    }
  }
}

async function deliver(parts: SendParts, handover: Handover, { signal, stillHolds }: Limits): Promise<Outcome> {
  const command = commandOf(handover.to)
  const { latencyMs } = readSandboxSettings(handover.settings)
  await pause(parts.clock, latencyMs + (command === 'slow' ? SLOW_MS : 0), signal)
  const refused = await refusal(parts, handover, command)
  if (refused) return { kind: 'rejected', failure: refused }
  if (command === 'unknown-lost') return { kind: 'unknown', words: failureWords(command) }
  if (command === 'kill-worker') return killWorker(parts, handover, signal)
  if (handover.media && !(await exists(handover.media.path))) return { kind: 'rejected', failure: mediaLost() }
  const copy = await parts.inbox.copyMedia(handover)
  const isWanted = () => !signal.aborted && stillHolds()
  if (!isWanted()) return { kind: 'rejected', failure: interrupted() }
  const now = parts.clock.now()
  const receipts = command === 'refuse-later' ? [refusalLater(now)] : receiptsOf(handover, now)
  // Taken, but never delivered: the inbox shows only what its recipient has.
  const isDelivered =
    command === 'refuse-later' || (await parts.inbox.deliver(handover, copy, { at: now, receipts, isWanted }))
  if (!isDelivered) return { kind: 'rejected', failure: interrupted() }
  for (const receipt of receipts) await parts.receipts.plan(handover, receipt)
  if (command === 'unknown-delivered') return { kind: 'unknown', words: failureWords(command) }
  return { kind: 'accepted', networkId: networkIdOf(handover.messageId) }
}

/** Null: go on. */
async function refusal(parts: SendParts, handover: Handover, command: SandboxCommand | null): Promise<Failure | null> {
  switch (command) {
    case 'refuse':
      return failure('permanent', 'recipient_refused', failureWords(command))
    case 'busy-twice':
      return handover.attemptNumber <= BUSY_ATTEMPTS ? failure('transient', 'busy', failureWords(command)) : null
    case 'away':
      return awayFor(parts, handover)
    default:
      return null
  }
}

/** The connection is away for ten seconds from the first attempt on, and then it is back. */
async function awayFor({ memory, clock }: SendParts, { connectionId, messageId }: Handover): Promise<Failure | null> {
  await memory.add('away', { connectionId, key: messageId, value: '', at: clock.now() })
  const since = (await memory.find('away', connectionId, messageId))?.at ?? clock.now()
  const leftMs = since + AWAY_MS - clock.now()
  if (leftMs <= 0) return null
  return {
    ...failure('connection', 'connection_away', failureWords('away')),
    retryAfterMs: leftMs,
  }
}

/** Never answers by itself: the calling worker is dead, or no longer holds the lane. */
function killWorker({ crash }: SendParts, { connectionId }: Handover, signal: AbortSignal): Promise<Outcome> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve({ kind: 'unknown', words: failureWords('kill-worker') }), {
      once: true,
    })
    crash(connectionId)
  })
}

function refusalLater(now: Instant): PlannedReceipt {
  return {
    kind: 'failed',
    dueAt: now + REFUSED_LATER_MS,
    code: 'refused_later',
    words: failureWords('refuse-later'),
  }
}

function receiptsOf(handover: Handover, now: Instant): readonly PlannedReceipt[] {
  const { deliveredAfterMs, readAfterMs } = readSandboxSettings(handover.settings)
  const planned: PlannedReceipt[] = []
  const plain = { code: null, words: null }
  if (deliveredAfterMs !== null) planned.push({ kind: 'delivered', dueAt: now + deliveredAfterMs, ...plain })
  if (readAfterMs !== null) planned.push({ kind: 'read', dueAt: now + readAfterMs, ...plain })
  return planned
}

async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (delayMs <= 0) return
  await new Promise<void>((resolve) => {
    const cancel = clock.after(delayMs, resolve)
    signal.addEventListener(
      'abort',
      () => {
        cancel()
        resolve()
      },
      { once: true },
    )
  })
}

/** The message is not the cause, so it is tried again. By then the file has been fetched once more. */
function mediaLost(): Failure {
  return failure('transient', 'media_lost', 'the fetched file is no longer in the spool')
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function interrupted(): Failure {
  return failure('transient', 'call_interrupted', 'the call was stopped before anything was delivered')
}

function failure(kind: Failure['class'], code: Failure['code'], words: string): Failure {
  return { class: kind, code, words, suspectsNetwork: false, retryAfterMs: null }
}
