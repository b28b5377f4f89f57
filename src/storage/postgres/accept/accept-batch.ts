import { randomUUIDv7 } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import { MESSAGE_TYPES, type MessageState, type MessageType } from '../../../core/message/message.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { AcceptResult, Candidate, RequestFacts } from '../../../core/ports/intake.ts'
import type { RefusalCode } from '../../../core/refusals.ts'
import { bigintArray, integerArray, textArray, withoutNul } from '../connection/binary-arrays.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import type { Asked, AuthorizationCache } from './authorization-cache.ts'

type Refused = Extract<AcceptResult, { kind: 'refused' }>

/** Somebody else held the lock of its lane or of its token, so nothing was decided. */
export interface Blocked {
  readonly kind: 'hindered'
  readonly by: 'lane' | 'token'
}
/** Nothing was decided for another reason, which is gone now. */
interface Undecided {
  readonly kind: 'undecided'
}
export type Verdict = Exclude<AcceptResult, { kind: 'unavailable' }> | Blocked | Undecided

export type RefusedByChannel = (channel: string, type: MessageType) => RefusalCode | null

interface AcceptBatchParts {
  readonly clock: Clock
  readonly channels: KnownChannels
  readonly rights: AuthorizationCache
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

export interface LockPolicy {
  /** Whether the whole batch waits for each lock, and fails as a whole. Otherwise who is hindered stands back. */
  readonly waitsForLocks: boolean
  readonly lockMs: number
}

/** What a batch has come to, and what is written about it later. */
export interface DoneBatch {
  readonly results: readonly Verdict[]
  readonly firstSequence: number
  /** From the moment it was handed over until it was known to be committed. */
  readonly tookUs: number
}

const ACCEPT = `select * from accept_requests($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
  $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31)`

/** Judges and stores all of them in one statement. Rejects with StorageUnavailable or StatementRefused. */
export async function acceptBatch(
  parts: AcceptBatchParts,
  candidates: readonly Candidate[],
  { slot, lockMs, waitsForLocks }: LockPolicy & { readonly slot: FencedConnection },
): Promise<DoneBatch> {
  const { clock, channels, rights } = parts
  const began = performance.now()
  const batch = encode(candidates, { handedOver: clock.monotonic(), rights })
  const [reply] = await slot.run(candidates.length, (count) =>
    slot.link.queryNow(
      ACCEPT,
      [
        slot.worker,
        slot.number,
        count,
        lockMs,
        waitsForLocks,
        ...batch.values,
        textArray(channels.names),
        textArray(channels.sendable),
        IDEMPOTENCY_KEPT_MS,
      ],
      'prepared',
    ),
  )
  const told = reply as unknown as Reply
  const results = readResults(batch, told, readExceptions(told.exceptions, channels))
  learn(rights, { batch, told, results })
  return {
    results,
    firstSequence: told.first_sequence,
    tookUs: Math.round((performance.now() - began) * 1000),
  }
}

/** See `accept_requests`. */
interface Reply {
  readonly connections: string | null
  readonly exceptions: string | null
  readonly first_sequence: number
  readonly mark: string | null
  readonly token_ends: string | null
}

/** Microseconds since the request arrived. */
export function tookUsSince({ receivedMonotonic }: RequestFacts, now: number): number {
  return Math.max(0, Math.round((now - receivedMonotonic) * 1000))
}

interface Encoded {
  readonly ids: readonly MessageId[]
  readonly asked: Asked
  /** Of each target, if nothing need be looked up. */
  readonly connections: readonly ConnectionId[] | null
  /** Which token and which target each of them has, from 0. */
  readonly tokenAt: readonly number[]
  readonly targetAt: readonly number[]
  readonly values: readonly unknown[]
}

function encode(
  candidates: readonly Candidate[],
  { handedOver, rights }: { readonly handedOver: number; readonly rights: AuthorizationCache },
): Encoded {
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
  const asked = { tokens: tokens.names, targets: targets.names }
  const known = rights.find(asked)
  return {
    ids,
    asked,
    connections: known?.connections ?? null,
    tokenAt,
    targetAt,
    values: [
      textArray(tokens.first.map(({ tokenId }) => tokenId)),
      textArray(tokens.first.map(({ accountId }) => accountId)),
      textArray(targets.first.map(({ accountId }) => accountId)),
      textArray(targets.first.map(({ from }) => from)),
      textArray(targets.first.map(({ content }) => content.type)),
      ...(known ? [known.mark, known.until, textArray(known.connections)] : [null, null, null]),
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
  /** Those of different accounts differ. */
  readonly names: string[] = []
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
    this.names.push(`${accountId} ${name}`)
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

function readResults(
  { ids, targetAt, connections: known }: Encoded,
  { connections, first_sequence: first }: Reply,
  exceptions: ReadonlyMap<number, Verdict>,
): Verdict[] {
  const connectionIds = (connections?.split(',') as ConnectionId[] | undefined) ?? known ?? []
  const results = ids.map((messageId, at): Verdict => {
    const connectionId = connectionIds[targetAt[at] ?? 0] as ConnectionId
    return { kind: 'accepted', messageId, connectionId, sequence: first + at }
  })
  for (const [at, exception] of exceptions) results[at] = exception
  return results
}

/** Whatever a message was accepted by has nothing that speaks against it. */
function learn(
  rights: AuthorizationCache,
  { batch, told, results }: { batch: Encoded; told: Reply; results: readonly Verdict[] },
): void {
  if (told.connections === null || told.mark === null) return
  const ends = told.token_ends?.split(',') ?? []
  rights.begin(told.mark)
  for (const [at, result] of results.entries()) {
    if (result.kind !== 'accepted') continue
    const [token, target] = [batch.tokenAt[at] ?? 0, batch.targetAt[at] ?? 0]
    const end = Number(ends[token])
    if (end > 0) rights.noteToken(batch.asked.tokens[token] ?? '', end)
    rights.noteTarget(batch.asked.targets[target] ?? '', result.connectionId)
  }
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
