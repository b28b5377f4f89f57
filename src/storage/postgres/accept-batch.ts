import { randomUUIDv7 } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { AccountId, ConnectionId, MessageId } from '../../core/ids.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../core/message/idempotency.ts'
import { MESSAGE_TYPES, type MessageState, type MessageType } from '../../core/message/message.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { AcceptResult, Candidate, RequestFacts } from '../../core/ports/intake.ts'
import type { RefusalCode } from '../../core/refusals.ts'
import { bigintArray, integerArray, textArray, withoutNul } from './binary-arrays.ts'
import type { Slot } from './slot.ts'

type Refused = Extract<AcceptResult, { kind: 'refused' }>

/** Somebody else held the lock of its lane or of its token, so nothing was decided. */
export interface Hindered {
  readonly kind: 'hindered'
  readonly by: 'lane' | 'token'
}
/** Nothing was decided for another reason, which is gone now. */
export interface Undecided {
  readonly kind: 'undecided'
}
export type Verdict = Exclude<AcceptResult, { kind: 'unavailable' }> | Hindered | Undecided

export type RefusedByChannel = (channel: string, type: MessageType) => RefusalCode | null

export interface AcceptBatchParts {
  readonly clock: Clock
  readonly channels: KnownChannels
}

/** What each channel can send. The database tells of a channel when it first meets it. */
export class KnownChannels {
  readonly #refused: RefusedByChannel
  #names: readonly string[] = []
  /** `channel/type` */
  #sendable: readonly string[] = []

  constructor(refused: RefusedByChannel) {
    this.#refused = refused
  }

  get names(): readonly string[] {
    return this.#names
  }

  get sendable(): readonly string[] {
    return this.#sendable
  }

  learn(channel: string): void {
    if (this.#names.includes(channel)) return
    this.#names = [...this.#names, channel]
    const types = MESSAGE_TYPES.filter((type) => this.#refused(channel, type) === null)
    this.#sendable = [...this.#sendable, ...types.map((type) => `${channel}/${type}`)]
  }
}

export interface Patience {
  /** Whether the whole batch waits for each lock, and fails as a whole. Otherwise who is hindered stands back. */
  readonly isPatient: boolean
  readonly lockMs: number
}

/** What a batch has come to, and what is written about it later. */
export interface DoneBatch {
  readonly verdicts: readonly Verdict[]
  readonly firstSequence: number
  /** From the moment it was handed over until it was known to be committed. */
  readonly tookUs: number
}

const ACCEPT = `select * from accept_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
  $20, $21, $22, $23, $24, $25, $26, $27, $28)`

/** Judges and stores all of them in one statement. Rejects with StorageUnavailable or StatementRefused. */
export async function acceptBatch(
  parts: AcceptBatchParts,
  candidates: readonly Candidate[],
  { slot, lockMs, isPatient }: Patience & { readonly slot: Slot },
): Promise<DoneBatch> {
  const { clock, channels } = parts
  const began = performance.now()
  const batch = encode(candidates, clock.monotonic())
  const [reply] = await slot.run(candidates.length, (count) =>
    slot.link.askNow(
      ACCEPT,
      [
        slot.worker,
        slot.number,
        count,
        lockMs,
        isPatient,
        ...batch.values,
        textArray(channels.names),
        textArray(channels.sendable),
        IDEMPOTENCY_KEPT_MS,
      ],
      'prepared',
    ),
  )
  const { exceptions, first_sequence } = reply as unknown as Reply
  return {
    verdicts: readVerdicts(batch, reply as unknown as Reply, readExceptions(exceptions, channels)),
    firstSequence: first_sequence,
    tookUs: Math.round((performance.now() - began) * 1000),
  }
}

interface Reply {
  readonly connections: string
  readonly exceptions: string | null
  readonly first_sequence: number
}

/** Microseconds since the request arrived. */
export function tookUsSince({ receivedMonotonic }: RequestFacts, now: number): number {
  return Math.max(0, Math.round((now - receivedMonotonic) * 1000))
}

interface Encoded {
  readonly ids: readonly MessageId[]
  /** Which target each of them has, from 0. */
  readonly targetAt: readonly number[]
  readonly values: readonly unknown[]
}

function encode(candidates: readonly Candidate[], handedOver: number): Encoded {
  const tokens = new Positions()
  const targets = new Positions()
  const tokenAt: number[] = []
  const targetAt: number[] = []
  for (const candidate of candidates) {
    const { accountId, from, content } = candidate
    tokenAt.push(tokens.of(accountId, candidate.tokenId, candidate))
    targetAt.push(targets.of(accountId, content.type === 'message' ? from : `${from} ${content.type}`, candidate))
  }
  const ids = candidates.map(() => randomUUIDv7() as MessageId)
  return {
    ids,
    targetAt,
    values: [
      textArray(tokens.first.map(({ tokenId }) => tokenId)),
      textArray(tokens.first.map(({ accountId }) => accountId)),
      textArray(targets.first.map(({ accountId }) => accountId)),
      textArray(targets.first.map(({ from }) => from)),
      textArray(targets.first.map(({ content }) => content.type)),
      positionArray(tokenAt),
      positionArray(targetAt),
      textArray(ids),
      textArray(candidates.map(({ to }) => to)),
      textArray(candidates.map(({ body }) => body)),
      bigintArray(candidates.map(({ body }) => crc32(body))),
      textArray(candidates.map(({ facts }) => facts.requestId)),
      textArray(candidates.map(({ facts }) => facts.remoteAddress)),
      textArray(candidates.map(({ facts }) => facts.userAgent && withoutNul(facts.userAgent))),
      bigintArray(candidates.map(({ facts }) => tookUsSince(facts, handedOver))),
      ...encodeKeys(candidates),
      ...encodeMedia(candidates),
    ],
  }
}

/** Gives equal things of an account one position, in the order in which they are first met. */
class Positions {
  readonly first: Candidate[] = []
  readonly #accounts = new Map<AccountId, Map<string, number>>()

  of(accountId: AccountId, name: string, candidate: Candidate): number {
    let positions = this.#accounts.get(accountId)
    if (!positions) {
      positions = new Map()
      this.#accounts.set(accountId, positions)
    }
    const known = positions.get(name)
    if (known !== undefined) return known
    positions.set(name, this.first.length)
    return this.first.push(candidate) - 1
  }
}

function encodeKeys(candidates: readonly Candidate[]): unknown[] {
  const at: number[] = []
  const keys: string[] = []
  const fingerprints: string[] = []
  for (const [position, { idempotency }] of candidates.entries()) {
    if (!idempotency) continue
    at.push(position)
    keys.push(idempotency.key)
    fingerprints.push(idempotency.fingerprint)
  }
  return at.length === 0 ? [null, null, null] : [positionArray(at), textArray(keys), textArray(fingerprints)]
}

function encodeMedia(candidates: readonly Candidate[]): unknown[] {
  const at: number[] = []
  const urls: string[] = []
  for (const [position, { content }] of candidates.entries()) {
    if (content.type === 'message') continue
    at.push(position)
    urls.push(content.url)
  }
  return at.length === 0 ? [null, null] : [positionArray(at), textArray(urls)]
}

/** SQL counts from 1. */
function positionArray(positions: readonly number[]): Buffer {
  return integerArray(positions.map((position) => position + 1))
}

function readVerdicts(
  { ids, targetAt }: Encoded,
  { connections, first_sequence: first }: Reply,
  exceptions: ReadonlyMap<number, Verdict>,
): Verdict[] {
  const connectionIds = connections.split(',') as ConnectionId[]
  const verdicts = ids.map((messageId, at): Verdict => {
    const connectionId = connectionIds[targetAt[at] ?? 0] as ConnectionId
    return { kind: 'accepted', messageId, connectionId, sequence: first + at }
  })
  for (const [at, exception] of exceptions) verdicts[at] = exception
  return verdicts
}

/** By position, from 0. */
function readExceptions(told: string | null, channels: KnownChannels): ReadonlyMap<number, Verdict> {
  const exceptions = new Map<number, Verdict>()
  for (const exception of told?.split(',') ?? []) {
    const [position, word = '', ...facts] = exception.split(' ')
    if (word === 'channel') channels.learn(facts.join(' '))
    exceptions.set(Number(position) - 1, readException(word, facts))
  }
  return exceptions
}

function readException(word: string, [messageId, state]: readonly string[]): Verdict {
  switch (word) {
    case 'lane':
    case 'token':
      return { kind: 'hindered', by: word }
    case 'channel':
      return { kind: 'undecided' }
    case 'r':
      // Without a state: the message was just dropped, and its key with it.
      return state === undefined
        ? { kind: 'undecided' }
        : { kind: 'replayed', messageId: messageId as MessageId, state: state as MessageState }
    default:
      return { kind: 'refused', code: word as Refused['code'] }
  }
}
