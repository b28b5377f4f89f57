import { randomUUIDv7 } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import type { MessageState } from '../../../core/message/message.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { AcceptResult, Candidate, RequestFacts } from '../../../core/ports/intake.ts'
import { bigintArray, integerArray, textArray, withoutNul } from '../connection/binary-arrays.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import { bigint, columns, integer, StoredFunction, text } from '../connection/stored-function.ts'
import type { AuthorizationCache, Known } from './authorization-cache.ts'

type Refused = Extract<AcceptResult, { kind: 'refused' }>

/** Another transaction held the lock of its lane or of its token, so nothing was decided. */
export interface Blocked {
  readonly kind: 'blocked'
  readonly by: 'lane' | 'token'
}
/** The request's key named a message that was just deleted. */
interface Undecided {
  readonly kind: 'undecided'
}
export type BatchResult = Exclude<AcceptResult, { kind: 'unavailable' }> | Blocked | Undecided

interface AcceptBatchParts {
  readonly clock: Clock
  /** What can be sent, as `channel/type`. */
  readonly sendable: () => readonly string[]
  readonly rights: AuthorizationCache
}

export interface LockPolicy {
  /** Whether the whole batch waits for each lock, and fails as a whole. Otherwise only the blocked requests are not decided. */
  readonly waitsForLocks: boolean
  readonly lockMs: number
}

/** The results of a batch, and what is written about it later. */
export interface DoneBatch {
  readonly results: readonly BatchResult[]
  readonly firstSequence: number
  /** From sending the batch until its commit was known. */
  readonly tookUs: number
}

/** One batch, as `accept_requests` gets it. Positions count from 1, as in SQL. */
interface Batch {
  readonly connection: FencedConnection
  readonly lockPolicy: LockPolicy
  readonly sendable: readonly string[]
  readonly handedOver: number
  readonly candidates: readonly Candidate[]
  readonly ids: readonly MessageId[]
  readonly tokens: Positions
  readonly targets: Positions
  /** Which token and which target each request has. */
  readonly tokenAt: readonly number[]
  readonly targetAt: readonly number[]
  readonly keyed: readonly Positioned[]
  readonly withMedia: readonly Positioned[]
  readonly known: Known | null
}

interface Positioned {
  readonly candidate: Candidate
  readonly position: number
}

const ACCEPT_REQUESTS = new StoredFunction<Batch & { readonly count: number }>('accept_requests', {
  a_worker: ({ connection }) => connection.worker,
  a_connection_index: ({ connection }) => connection.number,
  a_count: ({ count }) => count,
  lock_ms: ({ lockPolicy }) => lockPolicy.lockMs,
  waits_for_locks: ({ lockPolicy }) => lockPolicy.waitsForLocks,
  ...columns(({ tokens }: Batch) => tokens.first, {
    tokens: text(({ tokenId }) => tokenId),
    token_accounts: text(({ accountId }) => accountId),
  }),
  ...columns(({ targets }: Batch) => targets.first, {
    target_accounts: text(({ accountId }) => accountId),
    target_numbers: text(({ from }) => from),
    target_types: text(({ content }) => content.type),
  }),
  known_mark: ({ known }) => known?.version ?? null,
  known_until: ({ known }) => known?.until ?? null,
  known_connections: ({ known }) => known && textArray(known.connections),
  token_at: ({ tokenAt }) => integerArray(tokenAt),
  target_at: ({ targetAt }) => integerArray(targetAt),
  ids: ({ ids }) => textArray(ids),
  took: ({ candidates, handedOver }) => bigintArray(candidates.map(({ facts }) => tookUsSince(facts, handedOver))),
  ...columns(({ candidates }: Batch) => candidates, {
    recipients: text(({ to }) => to),
    bodies: text(({ body }) => body),
    crcs: bigint(({ body }) => crc32(body)),
    request_ids: text(({ facts }) => facts.requestId),
    addresses: text(({ facts }) => facts.remoteAddress),
    agents: text(({ facts }) => facts.userAgent && withoutNul(facts.userAgent)),
  }),
  ...columns(({ keyed }: Batch) => keyed, {
    key_at: integer(({ position }) => position),
    keys: text(({ candidate }) => candidate.idempotency?.key ?? null),
    fingerprints: text(({ candidate }) => candidate.idempotency?.fingerprint ?? null),
  }),
  ...columns(({ withMedia }: Batch) => withMedia, {
    url_at: integer(({ position }) => position),
    urls: text(({ candidate: { content } }) => (content.type === 'message' ? null : content.url)),
  }),
  sendable: ({ sendable }) => textArray(sendable),
  key_lasts_ms: () => IDEMPOTENCY_KEPT_MS,
})

/** Decides on all of them and stores what is accepted in one statement. Rejects with StorageUnavailable or StatementRefused. */
export async function acceptBatch(
  { clock, sendable, rights }: AcceptBatchParts,
  candidates: readonly Candidate[],
  { connection, lockMs, waitsForLocks }: LockPolicy & { readonly connection: FencedConnection },
): Promise<DoneBatch> {
  const began = performance.now()
  const shared = {
    connection,
    lockPolicy: { lockMs, waitsForLocks },
    sendable: sendable(),
    handedOver: clock.monotonic(),
  }
  const batch: Batch = { ...shared, ...arrange(candidates, rights) }
  const rows = await connection.run(candidates.length, (count) =>
    connection.pgConnection.queryNow(ACCEPT_REQUESTS.sql, ACCEPT_REQUESTS.valuesFor({ ...batch, count }), 'prepared'),
  )
  const [reply, ...exceptions] = rows as unknown as [Reply, ...Exception[]]
  const results = readResults(batch, reply)
  for (const exception of exceptions) results[exception.at - 1] = readException(exception)
  learn(rights, { batch, reply, results })
  return {
    results,
    firstSequence: reply.first_sequence,
    tookUs: Math.round((performance.now() - began) * 1000),
  }
}

/** The first row of `accept_requests`. */
interface Reply {
  readonly first_sequence: number
  readonly connections: string | null
  readonly mark: string | null
  readonly token_ends: string | null
}

/** Each further row: a request that was not accepted. */
interface Exception {
  readonly at: number
  readonly outcome: string
  readonly repeated_id: string | null
  readonly repeated_state: string | null
}

/** Microseconds since the request arrived. */
export function tookUsSince({ receivedMonotonic }: RequestFacts, now: number): number {
  return Math.max(0, Math.round((now - receivedMonotonic) * 1000))
}

function arrange(candidates: readonly Candidate[], rights: AuthorizationCache) {
  const tokens = new Positions()
  const targets = new Positions()
  const tokenAt: number[] = []
  const targetAt: number[] = []
  const keyed: Positioned[] = []
  const withMedia: Positioned[] = []
  for (const candidate of candidates) {
    const { accountId, from, tokenId, content, idempotency } = candidate
    tokenAt.push(tokens.of(accountId, tokenId, candidate))
    const position = targetAt.push(
      targets.of(accountId, content.type === 'message' ? from : `${from} ${content.type}`, candidate),
    )
    if (idempotency) keyed.push({ candidate, position })
    if (content.type !== 'message') withMedia.push({ candidate, position })
  }
  const ids = candidates.map(() => randomUUIDv7() as MessageId)
  const known = rights.find({ tokens: tokens.names, targets: targets.names })
  return { candidates, ids, tokens, targets, tokenAt, targetAt, keyed, withMedia, known }
}

/** Gives equal things of an account one position, from 1, in the order in which they come first. */
class Positions {
  readonly first: Candidate[] = []
  /** Names of different accounts differ. */
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
    this.names.push(`${accountId} ${name}`)
    const position = this.first.push(candidate)
    positions.set(name, position)
    return position
  }
}

function readResults({ ids, targetAt, known }: Batch, { connections, first_sequence: first }: Reply): BatchResult[] {
  const connectionIds = (connections?.split(',') as ConnectionId[] | undefined) ?? known?.connections ?? []
  return ids.map((messageId, at) => {
    const connectionId = connectionIds[(targetAt[at] ?? 1) - 1] as ConnectionId
    return { kind: 'accepted', messageId, connectionId, sequence: first + at }
  })
}

function readException({ outcome, repeated_id, repeated_state }: Exception) {
  switch (outcome) {
    case 'lane_locked':
      return { kind: 'blocked', by: 'lane' } as const
    case 'token_locked':
      return { kind: 'blocked', by: 'token' } as const
    case 'repeat':
      // Without an id: the message was just deleted, and its key with it.
      if (repeated_id === null) return { kind: 'undecided' } as const
      return { kind: 'replayed', messageId: repeated_id as MessageId, state: repeated_state as MessageState } as const
    default:
      return { kind: 'refused', code: outcome as Refused['code'] } as const
  }
}

/** Caches the token and the target of each accepted message as authorized. */
function learn(
  rights: AuthorizationCache,
  { batch, reply, results }: { batch: Batch; reply: Reply; results: readonly BatchResult[] },
): void {
  if (reply.connections === null || reply.mark === null) return
  const ends = reply.token_ends?.split(',') ?? []
  rights.begin(reply.mark)
  for (const [at, result] of results.entries()) {
    if (result.kind !== 'accepted') continue
    const [token, target] = [(batch.tokenAt[at] ?? 1) - 1, (batch.targetAt[at] ?? 1) - 1]
    const end = Number(ends[token])
    if (end > 0) rights.noteToken(batch.tokens.names[token] ?? '', end)
    rights.noteTarget(batch.targets.names[target] ?? '', result.connectionId)
  }
}
