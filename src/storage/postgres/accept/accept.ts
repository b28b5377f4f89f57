import type { AccountId, Instant, TokenId } from '../../../core/ids.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { AcceptResult, Candidate, Intake, RefusedRequest, SummedRefusals } from '../../../core/ports/intake.ts'
import type { Token } from '../../../core/token/token.ts'
import type { StorageHealth } from '../../queries/storage-health.ts'
import { Batcher } from '../connection/batcher.ts'
import { bigintArray, textArray } from '../connection/binary-arrays.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import { type PgConnection, StatementRefused } from '../connection/pg-connection.ts'
import { acceptBatch, type BatchResult, type DoneBatch } from './accept-batch.ts'
import { AcceptQueue, type AcceptQueueParts } from './accept-queue.ts'
import { AuthorizationCache } from './authorization-cache.ts'
import { Backlog, type BacklogLimits } from './backlog.ts'
import { RequestLog } from './request-log.ts'
import { TokenCache } from './token-cache.ts'

const WRITE_EVERY_MS = 250
// "Last used" is for people, so a minute is exact enough.
const TOKEN_USE_NOTED_EVERY_MS = 60_000
const MOST_TOKENS_REMEMBERED = 20_000
// About ten seconds of commits while the database takes no writes. Above that, durations are lost.
const MOST_COMMITS_KEPT = 5_000

export type IntakeLimits = BacklogLimits

interface PostgresIntakeParts {
  /** Each carries one accepting batch at a time. */
  readonly connections: readonly FencedConnection[]
  /** For the queries that must be answered before a request can be checked. */
  readonly lookUps: PgConnection
  /** For the API log, and for work that no caller waits for. */
  readonly background: PgConnection
  readonly clock: Clock
  /** Learns of failures that concern all requests, not of a lane or a token whose lock another transaction holds. */
  readonly health: Pick<StorageHealth, 'failed'>
  readonly limits: IntakeLimits
  /** What can be sent, as `channel/type`. */
  readonly sendable: () => readonly string[]
  /** How many processes accept on this database, this one included. */
  readonly acceptingProcesses: () => number
}

interface NamedKey {
  readonly accountId: AccountId
  readonly key: string
}

/** Accepting on PostgreSQL: one statement for many messages, two of them on their way at once. */
export class PostgresIntake implements Intake {
  readonly #parts: PostgresIntakeParts
  readonly #tokens: TokenCache
  readonly #keys: Batcher<NamedKey, boolean>
  readonly #backlog: Backlog
  readonly #queue: AcceptQueue
  readonly #log: RequestLog
  readonly #stats: AcceptStatsWriter
  readonly #authorizations: AuthorizationCache

  constructor(parts: PostgresIntakeParts) {
    const { connections, lookUps, background, clock } = parts
    this.#parts = parts
    this.#tokens = new TokenCache(clock, lookUps)
    this.#keys = new Batcher({ concurrency: 1, mostPerBatch: 500, run: (keys) => findNamedMessages(lookUps, keys) })
    this.#backlog = new Backlog({ ...parts, pgConnection: background })
    this.#queue = new AcceptQueue({
      connections,
      run: (candidates, context) => this.#acceptBatch(candidates, context),
      onError: (error) => parts.health.failed(error),
    })
    this.#log = new RequestLog({ clock, pgConnection: background, onError: (error) => parts.health.failed(error) })
    this.#stats = new AcceptStatsWriter(background)
    this.#authorizations = new AuthorizationCache(clock)
  }

  findToken(tokenSha256: Buffer): Token | Promise<Token | null> {
    return this.#tokens.find(tokenSha256)
  }

  /** A token was changed in any process. A process that misses the notification finds out a second later. */
  forgetTokens(): void {
    this.#tokens.forgetAll()
  }

  namesMessage(accountId: AccountId, key: string): Promise<boolean> {
    return this.#keys.submit({ accountId, key })
  }

  isBacklogFull(accountId: AccountId, from: string | null): ReturnType<Backlog['isFull']> {
    return this.#backlog.isFull(accountId, from)
  }

  accept(candidate: Candidate): Promise<AcceptResult> {
    // Not `async`: that makes another promise of what it returns, for each message.
    return isWritable(candidate)
      ? this.#queue.submit(candidate)
      : Promise.reject(new TypeError('A message holds something that is no text.'))
  }

  async logRefused(request: RefusedRequest): Promise<boolean> {
    const isKept = await this.#log.keep(request)
    if (isKept) this.#stats.used(request.tokenId, request.facts.receivedAt)
    return isKept
  }

  async logSummed(sum: SummedRefusals): Promise<boolean> {
    const isKept = await this.#log.keepSum(sum)
    if (isKept) this.#stats.used(sum.tokenId, sum.since)
    return isKept
  }

  /** To be called after the last request. Harmless twice. */
  async close(): Promise<void> {
    await this.#queue.idle()
    await this.#stats.close()
  }

  async #acceptBatch(...[candidates, context]: Parameters<AcceptQueueParts['run']>): Promise<readonly BatchResult[]> {
    const done = await acceptBatch({ ...this.#parts, rights: this.#authorizations }, candidates, context)
    const tokenIds = new Set<TokenId>()
    for (const [at, result] of done.results.entries()) {
      const candidate = candidates[at]
      if (result.kind !== 'accepted' || !candidate) continue
      tokenIds.add(candidate.tokenId)
      this.#backlog.accept(candidate.accountId, candidate.from)
    }
    if (tokenIds.size > 0) this.#stats.committed(done)
    const now = this.#parts.clock.now()
    for (const tokenId of tokenIds) this.#stats.used(tokenId, now)
    return done.results
  }
}

/** Checked before batching: inside a batch the error could not be attributed to one request. */
function isWritable({ facts, tokenId, accountId, from, to, content, body, idempotency }: Candidate): boolean {
  const texts = [facts.requestId, facts.remoteAddress, facts.userAgent ?? '', tokenId, accountId, from, to, body]
  if (content.type !== 'message') texts.push(content.url)
  if (idempotency) texts.push(idempotency.key, idempotency.fingerprint)
  return texts.every((text) => typeof text === 'string')
}

async function findNamedMessages(pgConnection: PgConnection, keys: readonly NamedKey[]): Promise<boolean[]> {
  const [row] = await pgConnection.query('select idempotency_keys_exist($1, $2, $3) as names', [
    textArray(keys.map(({ accountId }) => accountId)),
    textArray(keys.map(({ key }) => key)),
    IDEMPOTENCY_KEPT_MS,
  ])
  const names = row?.['names'] as string
  return keys.map((_, at) => names[at] === 't')
}

interface Commit {
  readonly first: number
  readonly last: number
  readonly tookUs: number
}

/**
 * Facts about acceptances for people, on which nothing depends: how long the commits took, and when tokens were last used.
 * Written a moment later and for many at once, so that no acceptance waits for it.
 */
class AcceptStatsWriter {
  readonly #pgConnection: PgConnection
  readonly #usedAt = new Map<TokenId, Instant>()
  #commits: Commit[] = []
  #uses = new Map<TokenId, Instant>()
  #timer: NodeJS.Timeout | null = null
  #writing: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(pgConnection: PgConnection) {
    this.#pgConnection = pgConnection
  }

  committed({ firstSequence, results, tookUs }: DoneBatch): void {
    if (this.#commits.length >= MOST_COMMITS_KEPT) this.#commits.shift()
    this.#commits.push({ first: firstSequence, last: firstSequence + results.length - 1, tookUs })
    this.#plan()
  }

  used(tokenId: TokenId, now: Instant): void {
    const noted = this.#usedAt.get(tokenId)
    if (noted !== undefined && now - noted < TOKEN_USE_NOTED_EVERY_MS && now >= noted) return
    if (this.#usedAt.size >= MOST_TOKENS_REMEMBERED) this.#usedAt.clear()
    this.#usedAt.set(tokenId, now)
    this.#uses.set(tokenId, now)
    this.#plan()
  }

  /** Writes what there is. Harmless twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    await this.#write()
  }

  #plan(): void {
    if (this.#timer || this.#isClosed) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      void this.#write()
    }, WRITE_EVERY_MS)
    this.#timer.unref()
  }

  /** Never rejects, and never overtakes itself. */
  #write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#writeNow())
    return this.#writing
  }

  async #writeNow(): Promise<void> {
    const [commits, uses] = [this.#commits, [...this.#uses]]
    if (commits.length + uses.length === 0) return
    this.#commits = []
    this.#uses = new Map()
    try {
      await this.#pgConnection.query('select note_acceptances($1, $2, $3, $4, $5)', [
        bigintArray(commits.map(({ last }) => last)),
        bigintArray(commits.map(({ first }) => first)),
        bigintArray(commits.map(({ tookUs }) => tookUs)),
        textArray(uses.map(([tokenId]) => tokenId)),
        bigintArray(uses.map(([, at]) => at)),
      ])
    } catch (error) {
      // A bad value would fail for ever: its period was dropped meanwhile.
      if (error instanceof StatementRefused && error.kind === 'data') return
      this.#commits = [...commits, ...this.#commits].slice(-MOST_COMMITS_KEPT)
      this.#uses = new Map([...uses, ...this.#uses])
      this.#plan()
    }
  }
}
