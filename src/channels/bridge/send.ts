import { stat } from 'node:fs/promises'
import type { Failure, Handover, Outcome, Prepared, StillHolds } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { bridgeReason } from '../../core/reasons/bridge.ts'
import {
  type Adapter,
  type AdapterClient,
  type AdapterEnd,
  type AskedConnection,
  openAdapter,
  withoutSecrets,
} from './adapter-client.ts'
import type { BrokenPromises } from './broken-promises.ts'
import type { Gate } from './gate.ts'
import {
  type AdapterOutcome,
  answersForOther,
  attemptIdOf,
  attemptRequest,
  MOST_ATTEMPT_BYTES,
  parseMediaAnswer,
  parseOutcome,
  storedNetworkId,
} from './protocol.ts'
import type { RejectedAttempts } from './rejected-attempts.ts'
import { readBridgeSettings } from './settings.ts'

export interface SendParts {
  readonly client: AdapterClient
  readonly gate: Gate
  readonly secrets: Secrets
  readonly clock: Clock
  /** Where an adapter reports to, for a connection; null when it is not to report. */
  readonly receiptsUrlOf: (handover: Handover) => Promise<string | null>
  readonly rejectedAttempts: RejectedAttempts
  readonly brokenPromises: BrokenPromises
}

// The signature shows that it is the adapter's answer to this request.
const OTHER_ANSWER = 'The adapter answered for another attempt.'

interface Limits {
  readonly signal: AbortSignal
  readonly stillHolds: StillHolds
}

// A person must fix it. A try every ten minutes notices when that is done.
const ASK_AGAIN_AFTER_MS = 10 * 60_000
// The gate keeps asking by itself, so the lane need not wait longer.
const GATE_CLOSED_MS = 1_000
// How long a signed answer may still take after the adapter has given up.
const MEDIA_BASE_MS = 3 * 60_000
const MEDIA_MS_PER_BYTE = 20_000 / 1_000_000
const MEDIA_ASK_MS = 10_000

/** One attempt: at most one request that may leave. */
export async function sendToAdapter(parts: SendParts, handover: Handover, limits: Limits): Promise<Outcome> {
  const asked = askedOf(handover)
  const adapter = openAdapter(asked, parts.secrets)
  if (!adapter) return rejected(unreadable())
  const closed = await unlessAborted(parts.gate.enter(asked, adapter), limits.signal)
  if (closed === 'aborted') return rejected(interrupted())
  if (closed) return rejected(connectionFailure('bridge_not_ready', closed.words, GATE_CLOSED_MS))
  const receiptsUrl = await parts.receiptsUrlOf(handover).catch(() => undefined)
  if (receiptsUrl === undefined) return rejected(storageAway())
  const { sendTimeoutMs } = readBridgeSettings(handover.settings)
  const notAfter = parts.clock.now() + sendTimeoutMs
  const body = JSON.stringify(attemptRequest(handover, { notAfter, receiptsUrl }))
  if (Buffer.byteLength(body) > MOST_ATTEMPT_BYTES)
    return rejected(permanent('content_refused', `It has more than ${MOST_ATTEMPT_BYTES} bytes.`))
  const attemptId = attemptIdOf(handover)
  const end = await parts.client.call(
    adapter,
    {
      operation: 'attempt',
      method: 'POST',
      path: '/v1/attempts',
      id: `att_${attemptId}`,
      body,
      timeoutMs: sendTimeoutMs,
    },
    { signal: limits.signal, mayBegin: limits.stillHolds },
  )
  return endOf(parts, { handover, adapter, attemptId }, end)
}

interface Attempted {
  readonly handover: Handover
  readonly adapter: Adapter
  readonly attemptId: string
}

async function endOf(parts: SendParts, { handover, adapter, attemptId }: Attempted, end: AdapterEnd): Promise<Outcome> {
  const { gate, clock, rejectedAttempts, brokenPromises } = parts
  const { connectionId } = handover
  if (end.kind === 'not-sent') {
    if (end.code === 'network') gate.attempted(connectionId, 'away', end.words)
    return rejected(notSent(end))
  }
  const answer = end.kind === 'signed' ? parseOutcome(end.value, attemptId) : null
  if (!answer) {
    if (end.kind === 'signed' && answersForOther(end.value, attemptId)) {
      gate.attempted(connectionId, 'unsigned', OTHER_ANSWER)
      await brokenPromises.keep('other-answer', handover).catch(() => {})
      return { kind: 'unknown', words: OTHER_ANSWER }
    }
    const words = end.kind === 'signed' ? 'The adapter answered in a way that is not of version 1.' : end.words
    gate.attempted(connectionId, end.kind === 'broken' ? 'broken' : 'unsigned', words)
    return { kind: 'unknown', words }
  }
  gate.attempted(connectionId, 'signed', null)
  // A later report against it is recognised by this. If a crash loses it, the message still counts as not sent.
  if (answer.result === 'rejected') await rejectedAttempts.keep(handover, clock.now()).catch(() => {})
  return outcomeOf(answer, adapter)
}

function outcomeOf(answer: AdapterOutcome, adapter: Adapter): Outcome {
  switch (answer.result) {
    case 'accepted':
      return { kind: 'accepted', networkId: storedNetworkId(answer.networkId) }
    case 'rejected':
      return rejected(failureOf(answer, adapter))
    case 'unknown':
      return { kind: 'unknown', words: wordsOfUnknown(withoutSecrets(answer.words, adapter)) }
  }
}

/** Says that the adapter did answer, but does not know the result. */
function wordsOfUnknown(words: string | null): string {
  return `The adapter does not know what became of it${words ? `: ${words}` : '.'}`
}

function failureOf(answer: Omit<Extract<AdapterOutcome, { result: 'rejected' }>, 'result'>, adapter: Adapter): Failure {
  const { code, reason } = bridgeReason(answer.code)
  const words = withoutSecrets(answer.words, adapter)
  return {
    class: answer.class,
    code: reason,
    words: code === null ? words : `(${code}) ${words ?? ''}`.trim(),
    suspectsNetwork: answer.class === 'transient' && answer.suspectsGateway,
    retryAfterMs: answer.retryAfterMs,
  }
}

/** Brings the attachment to the adapter, unless it has it already. Repeating it is harmless. */
export async function prepareMedia(parts: SendParts, handover: Handover, signal: AbortSignal): Promise<Prepared> {
  const { media } = handover
  if (!media) return { kind: 'ready' }
  const asked = askedOf(handover)
  const adapter = openAdapter(asked, parts.secrets)
  if (!adapter) return failed(unreadable())
  // A file that was cut off is lost as well.
  const found = await stat(media.path).catch(() => null)
  if (found?.size !== media.sizeBytes)
    return failed(transient('media_lost', 'the fetched file is no longer in the spool'))
  const closed = await unlessAborted(parts.gate.enter(asked, adapter), signal)
  if (closed === 'aborted') return failed(interrupted())
  if (closed) return failed(connectionFailure('bridge_not_ready', closed.words, GATE_CLOSED_MS))
  const { sha256, sizeBytes } = media
  const request = { operation: 'media', path: `/v1/media/${sha256}`, id: mediaId(sha256) } as const
  const known = await parts.client.call(
    adapter,
    { ...request, method: 'GET', body: null, timeoutMs: MEDIA_ASK_MS },
    { signal },
  )
  if (known.kind === 'signed' && parseMediaAnswer(known.value, sha256)?.isReady) return { kind: 'ready' }
  const end = await parts.client.call(
    adapter,
    {
      ...request,
      method: 'PUT',
      body: { path: media.path, sizeBytes },
      signed: `${sha256}.${sizeBytes}`,
      timeoutMs: MEDIA_BASE_MS + Math.ceil(sizeBytes * MEDIA_MS_PER_BYTE),
    },
    { signal },
  )
  if (end.kind === 'not-sent') return failed(notSent(end))
  const answer = end.kind === 'signed' ? parseMediaAnswer(end.value, sha256) : null
  if (answer?.isReady) return { kind: 'ready' }
  if (answer?.rejection) return failed(failureOf(answer.rejection, adapter))
  const words = 'words' in end ? end.words : 'The adapter did not say whether it has the file.'
  // The bytes are no message. Whatever became of them, they are simply uploaded again.
  return failed({ ...transient('network_error', words), suspectsNetwork: true })
}

/** The random part ensures that an answer to one request is not taken for the answer to another. */
function mediaId(sha256: string): string {
  return `med_${sha256}_${crypto.randomUUID()}`
}

export function askedOf({
  connectionId,
  accountId,
  settings,
}: Pick<Handover, 'connectionId' | 'accountId' | 'settings'>): AskedConnection {
  return { id: connectionId, accountId, settings }
}

function unlessAborted<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result | 'aborted'> {
  if (signal.aborted) return Promise.resolve('aborted')
  const { promise, resolve } = Promise.withResolvers<'aborted'>()
  const stop = () => resolve('aborted')
  signal.addEventListener('abort', stop, { once: true })
  return Promise.race([running, promise]).finally(() => signal.removeEventListener('abort', stop))
}

function rejected(failure: Failure): Outcome {
  return { kind: 'rejected', failure }
}

function failed(failure: Failure): Prepared {
  return { kind: 'failed', failure }
}

function notSent({ code, words }: Extract<AdapterEnd, { kind: 'not-sent' }>): Failure {
  if (code === 'interrupted') return interrupted()
  if (code === 'blocked') return connectionFailure('bridge_url_blocked', words, ASK_AGAIN_AFTER_MS)
  return { ...transient('network_error', words), suspectsNetwork: true }
}

function interrupted(): Failure {
  return transient('call_interrupted', null)
}

function unreadable(): Failure {
  return connectionFailure('secret_unreadable', 'the secret is not there or cannot be opened', ASK_AGAIN_AFTER_MS)
}

function storageAway(): Failure {
  return transient('storage_unavailable', 'what is remembered of the connection could not be read or written')
}

function connectionFailure(code: Failure['code'], words: string | null, retryAfterMs: number): Failure {
  return { class: 'connection', code, words, suspectsNetwork: false, retryAfterMs }
}

function permanent(code: Failure['code'], words: string): Failure {
  return { class: 'permanent', code, words, suspectsNetwork: false, retryAfterMs: null }
}

function transient(code: Failure['code'], words: string | null): Failure {
  return { class: 'transient', code, words, suspectsNetwork: false, retryAfterMs: null }
}
