import type { AdapterCapabilities } from '../../core/connection/adapter-capabilities.ts'
import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import { MESSAGE_TYPES, type MessageType } from '../../core/message/message.ts'
import type { Failure, Handover, Receipt } from '../../core/ports/channel.ts'
import { BRIDGE } from './name.ts'

/** The version of the protocol that this file implements. */
export const VERSION = 1
/** The limits of docs/channels/bridge-protocol.md. */
export const MOST_ANSWER_BYTES = 64 * 1024
export const MOST_ATTEMPT_BYTES = 512 * 1024
export const MOST_RECEIPTS_BYTES = 256 * 1024
export const MOST_RECEIPTS = 100
const MOST_WORDS = 500
const MOST_RETRY_AFTER_MS = 3_600_000

type Loose = Readonly<Record<string, unknown>>

/** One attempt, as an adapter gets it. */
interface AttemptRequest {
  readonly type: 'attempt'
  readonly attemptId: string
  readonly messageId: MessageId
  readonly connectionId: ConnectionId
  readonly from: string
  readonly to: string
  readonly attempt: number
  /** Milliseconds since 1970. The adapter begins no work after it. */
  readonly notAfter: number
  readonly content: AttemptContent
  /** Where receipts go; null when none are wanted. */
  readonly receiptsUrl: string | null
}

type AttemptContent =
  | { readonly type: 'message'; readonly text: string }
  | {
      readonly type: Exclude<MessageType, 'message'>
      readonly caption: string | null
      readonly name: string
      readonly media: { readonly sha256: string; readonly sizeBytes: number; readonly mime: string }
    }

/** What an adapter answered to an attempt. */
export type AdapterOutcome =
  | { readonly result: 'accepted'; readonly networkId: string }
  | ({ readonly result: 'rejected' } & AdapterRejection)
  | { readonly result: 'unknown'; readonly words: string | null }

interface AdapterRejection {
  readonly class: Failure['class']
  readonly code: string
  readonly words: string | null
  readonly retryAfterMs: number | null
  readonly suspectsGateway: boolean
}

/** What an adapter says about an attempt when it is asked later. */
export interface AdapterEvidence {
  readonly state: 'accepted' | 'rejected' | 'pending' | 'unknown' | 'not_received' | 'forgotten'
  readonly networkId: string | null
  readonly words: string | null
  /** The adapter's log is complete from this time on, in milliseconds since 1970. */
  readonly logSince: Instant
}

/** What an adapter says of itself. */
export interface AdapterHealth {
  readonly versions: readonly number[]
  readonly adapter: string
  readonly gateway: string
  readonly now: Instant
  readonly logSince: Instant
  readonly isReady: boolean
  readonly words: string | null
  /** Digits; null when the gateway does not say from which numbers it sends. */
  readonly senders: readonly string[] | null
  readonly capabilities: AdapterCapabilities
}

/** One report of an adapter about an attempt. */
export interface AdapterReceipt {
  readonly messageId: MessageId
  readonly attemptNumber: number
  readonly connectionId: ConnectionId
  readonly kind: Receipt['kind']
  /** Milliseconds since 1970; null when missing or impossible. */
  readonly at: Instant | null
  readonly networkId: string | null
  /** The code and the words of a failure. */
  readonly code: string | null
  readonly words: string | null
}

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const ATTEMPT_ID = new RegExp(`^(${UUID})_([1-9][0-9]{0,8})$`)

/** What an attempt is called on both sides: the same in every repeat of the same request. */
export function attemptIdOf({ messageId, attemptNumber }: Pick<Handover, 'messageId' | 'attemptNumber'>): string {
  return `${messageId}_${attemptNumber}`
}

export function attemptRequest(
  handover: Handover,
  { notAfter, receiptsUrl }: { readonly notAfter: Instant; readonly receiptsUrl: string | null },
): AttemptRequest {
  const { messageId, connectionId, from, to, attemptNumber } = handover
  return {
    type: 'attempt',
    attemptId: attemptIdOf(handover),
    messageId,
    connectionId,
    from,
    to,
    attempt: attemptNumber,
    notAfter,
    content: contentOf(handover),
    receiptsUrl,
  }
}

function contentOf({ content, media }: Handover): AttemptContent {
  if (content.type === 'message') return { type: 'message', text: content.text }
  const { type, caption, name } = content
  const { sha256 = '', sizeBytes = 0, mime = '' } = media ?? {}
  return { type, caption, name, media: { sha256, sizeBytes, mime } }
}

/**
 * An adapter's id of a message, as Nuncio stores it. The prefix keeps it apart from ids of other networks, because an adapter
 * may choose any text; the index `message_undelivered` covers ids with this prefix.
 */
export function storedNetworkId(given: string): string {
  return `${BRIDGE}:${given}`
}

/** The value of a body; undefined when it is no JSON. */
export function parseJson(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

/** Whether this is an outcome or evidence, but of another attempt. */
export function answersForOther(given: unknown, attemptId: string): boolean {
  const other = (objectOf(given, 'outcome') ?? objectOf(given, 'evidence'))?.['attemptId']
  return typeof other === 'string' && other !== attemptId
}

/** Null for everything that is not an outcome of this attempt as the protocol has it. */
export function parseOutcome(given: unknown, attemptId: string): AdapterOutcome | null {
  const answer = objectOf(given, 'outcome')
  if (answer?.['attemptId'] !== attemptId) return null
  const words = wordsOf(answer['words'])
  if (words === undefined) return null
  switch (answer['result']) {
    case 'accepted': {
      const networkId = networkIdOf(answer['networkId'])
      return networkId ? { result: 'accepted', networkId } : null
    }
    case 'rejected': {
      const rejection = rejectionOf(answer)
      return rejection && { result: 'rejected', ...rejection }
    }
    case 'unknown':
      return { result: 'unknown', words }
    default:
      return null
  }
}

const CLASSES: ReadonlySet<unknown> = new Set(['permanent', 'transient', 'recipient', 'connection'])

function rejectionOf(answer: Loose): AdapterRejection | null {
  const { class: given, code, retryAfterMs = null, suspectsGateway = false } = answer
  const words = wordsOf(answer['words'])
  if (!CLASSES.has(given) || !isCode(code) || words === undefined) return null
  if (retryAfterMs !== null && !isWhole(retryAfterMs, MOST_RETRY_AFTER_MS)) return null
  if (typeof suspectsGateway !== 'boolean') return null
  return { class: given as Failure['class'], code, words, retryAfterMs, suspectsGateway }
}

const STATES: ReadonlySet<unknown> = new Set([
  'accepted',
  'rejected',
  'pending',
  'unknown',
  'not_received',
  'forgotten',
])

/** Null for what is no evidence about this attempt. */
export function parseEvidence(given: unknown, attemptId: string): AdapterEvidence | null {
  const answer = objectOf(given, 'evidence')
  if (answer?.['attemptId'] !== attemptId || !STATES.has(answer['state'])) return null
  const state = answer['state'] as AdapterEvidence['state']
  const words = wordsOf(answer['words'])
  const networkId = networkIdOf(answer['networkId'])
  const logSince = answer['logSince']
  if (words === undefined || !isWhole(logSince)) return null
  return state === 'accepted' && !networkId ? null : { state, networkId: networkId ?? null, words, logSince }
}

/** Whether the adapter has a file, or why it does not take it; null for what says neither. */
export function parseMediaAnswer(
  given: unknown,
  sha256: string,
): { readonly isReady: true } | { readonly isReady: false; readonly rejection: AdapterRejection | null } | null {
  const answer = objectOf(given, 'media')
  if (answer?.['sha256'] !== sha256) return null
  if (answer['ready'] === true) return { isReady: true }
  if (answer['ready'] !== false) return null
  return { isReady: false, rejection: rejectionOf(answer) }
}

const RECEIPTS = ['sent', 'delivered', 'read', 'failed'] as const satisfies readonly Receipt['kind'][]
const RECEIPT_KINDS: ReadonlySet<unknown> = new Set(RECEIPTS)
const MOST_SENDERS = 1_000

/** Null for what does not describe an adapter. */
export function parseHealth(given: unknown): AdapterHealth | null {
  const answer = objectOf(given, 'health')
  const capabilities = capabilitiesOf(answer?.['capabilities'])
  if (!answer || !capabilities) return null
  const { versions, adapter, gateway, now, logSince, ready, senders = null } = answer
  const words = wordsOf(answer['words'])
  if (!Array.isArray(versions) || !versions.every((version) => isWhole(version))) return null
  if (!isName(adapter) || !isName(gateway) || !isWhole(now) || !isWhole(logSince)) return null
  if (typeof ready !== 'boolean' || words === undefined) return null
  if (senders !== null && !isSenderList(senders)) return null
  return { versions, adapter, gateway, now, logSince, isReady: ready, words, senders, capabilities }
}

function capabilitiesOf(given: unknown): AdapterCapabilities | null {
  const found = objectOf(given)
  if (!found) return null
  const { types, maxTextLength = null, maxCaptionLength = null, receipts, evidence } = found
  if (!Array.isArray(types) || !Array.isArray(receipts) || typeof evidence !== 'boolean') return null
  if (!receipts.every((kind) => RECEIPT_KINDS.has(kind))) return null
  if ([maxTextLength, maxCaptionLength].some((length) => length !== null && !isWhole(length))) return null
  return {
    // Types of a later version are left out.
    types: MESSAGE_TYPES.filter((type) => types.includes(type)),
    maxTextLength: maxTextLength as number | null,
    maxCaptionLength: maxCaptionLength as number | null,
    // In our order, so that equal sets are stored as equal texts.
    receipts: RECEIPTS.filter((kind) => receipts.includes(kind)),
    evidence,
  }
}

function isSenderList(given: unknown): given is readonly string[] {
  if (!Array.isArray(given) || given.length > MOST_SENDERS) return false
  return given.every((sender) => typeof sender === 'string' && /^[0-9]{1,20}$/.test(sender))
}

/** A batch of receipts. `ignored` names the place of each that was not taken, and why. */
export interface ReadReceipts {
  readonly receipts: readonly AdapterReceipt[]
  readonly ignored: readonly { readonly index: number; readonly reason: 'malformed' | 'kind_unknown' | 'not_ours' }[]
}

/** Null for what is no batch of receipts. A receipt that cannot be read does not stop the others. */
export function parseReceipts(given: unknown): ReadReceipts | null {
  const batch = objectOf(given, 'receipts')
  const list = batch?.['receipts']
  if (!Array.isArray(list) || list.length > MOST_RECEIPTS) return null
  const read = list.map(receiptOf)
  return {
    receipts: read.filter((one) => typeof one !== 'string'),
    ignored: read.flatMap((one, index) => (typeof one === 'string' ? [{ index, reason: one }] : [])),
  }
}

function receiptOf(given: unknown): AdapterReceipt | ReadReceipts['ignored'][number]['reason'] {
  const receipt = objectOf(given)
  if (!receipt) return 'malformed'
  const { attemptId, connectionId, kind, at, code = null } = receipt
  if (!RECEIPT_KINDS.has(kind)) return 'kind_unknown'
  const [, messageId, number] = (typeof attemptId === 'string' && ATTEMPT_ID.exec(attemptId)) || []
  if (messageId === undefined || number === undefined || typeof connectionId !== 'string') return 'not_ours'
  const words = wordsOf(receipt['words'])
  const networkId = networkIdOf(receipt['networkId'])
  if (words === undefined || networkId === undefined || (code !== null && !isCode(code))) return 'malformed'
  return {
    messageId: messageId as MessageId,
    attemptNumber: Number(number),
    connectionId: connectionId as ConnectionId,
    kind: kind as Receipt['kind'],
    at: isWhole(at) ? at : null,
    networkId,
    code: kind === 'failed' ? code : null,
    words,
  }
}

/** With this `type` where one is given; null for everything else. */
function objectOf(given: unknown, type?: string): Loose | null {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return null
  const found = given as Loose
  return type === undefined || found['type'] === type ? found : null
}

/** Undefined for what is no text. Control characters become blanks, and the end is cut off. */
function wordsOf(given: unknown): string | null | undefined {
  if (given === undefined || given === null) return null
  if (typeof given !== 'string') return undefined
  const letters = Array.from(given.replace(/\p{C}/gu, ' ').trim())
  if (letters.length === 0) return null
  return letters.length <= MOST_WORDS ? letters.join('') : `${letters.slice(0, MOST_WORDS - 1).join('')}…`
}

/** Null when there is none, undefined for what cannot be one. */
function networkIdOf(given: unknown): string | null | undefined {
  if (given === undefined || given === null) return null
  return typeof given === 'string' && /^[\x21-\x7e]{1,256}$/.test(given) ? given : undefined
}

function isCode(given: unknown): given is string {
  return typeof given === 'string' && /^[a-z0-9_]{1,64}$/.test(given)
}

function isName(given: unknown): given is string {
  return typeof given === 'string' && /^[\x20-\x7e]{1,100}$/.test(given)
}

function isWhole(given: unknown, most = Number.MAX_SAFE_INTEGER): given is number {
  return typeof given === 'number' && Number.isSafeInteger(given) && given >= 0 && given <= most
}
