import { randomUUIDv7 } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { AccountId, Instant, MessageId } from '../../../core/ids.ts'
import { decideAcceptance } from '../../../core/message/decide-acceptance.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import type { MessageState } from '../../../core/message/message.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type {
  AcceptResult,
  Candidate,
  Intake,
  RefusedRequest,
  RequestFacts,
  SummedRefusals,
} from '../../../core/ports/intake.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import type { Token } from '../../../core/token/token.ts'
import type { GroupCommit, Participant } from '../connection/group-commit.ts'
import type { UnindexedTail } from '../lanes/unindexed-tail.ts'
import type { Directory, DirectoryConnection } from './directory.ts'
import type { WaitingCounts } from './waiting-counts.ts'

// "Last used" is for people, so a minute is exact enough and keeps a busy token from costing a write per message.
const TOKEN_USE_NOTED_EVERY_MS = 60_000

export interface IntakeLimits {
  /** 0 means none. */
  readonly maxWaitingPerConnection: number
  readonly maxWaitingPerAccount: number
}

interface Parts {
  readonly database: DatabaseSync
  readonly commits: GroupCommit
  readonly directory: Directory
  readonly counts: WaitingCounts
  readonly tail: UnindexedTail
  readonly clock: Clock
  readonly limits: IntakeLimits
  /** What can be sent, as `channel/type`. */
  readonly sendable: () => readonly string[]
}

interface KeyRow {
  readonly fingerprint: string
  readonly message_sequence: number
  readonly accepted_at: number
}

/** Accepting on SQLite: one row per message, many messages per commit. */
export class SqliteIntake implements Intake, Participant {
  readonly #parts: Parts
  readonly #insertMessage: StatementSync
  readonly #insertMedia: StatementSync
  readonly #insertRequest: StatementSync
  readonly #insertSum: StatementSync
  readonly #insertCommit: StatementSync
  readonly #findKey: StatementSync
  readonly #putKey: StatementSync
  readonly #findMessage: StatementSync
  readonly #noteUse: StatementSync
  readonly #usedAt = new Map<string, Instant>()
  #sendable: ReadonlySet<string> | null = null
  #batchStartedMs = 0
  #firstSequence = 0
  #lastSequence = 0
  #finished: { first: number; last: number; tookUs: number } | null = null

  constructor(parts: Parts) {
    this.#parts = parts
    const { database } = parts
    this.#insertMessage = database.prepare(
      `insert into message (id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
         accepted_at, remote_address, user_agent, took_us) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 'QUEUED', ?, ?, ?, ?)`,
    )
    this.#insertMedia = database.prepare(
      `insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at) values (?, ?, ?, ?, ?, 'pending', ?)`,
    )
    this.#insertRequest = database.prepare(
      `insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, body, message_id,
         message_state, remote_address, user_agent) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
    this.#insertSum = database.prepare(
      `insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, summed_requests,
         summed_since) select ?, ?, ?, ?, 0, ?, ?, ?, ?, ?
         where not exists (select 1 from request where account_id = ? and request_id = ?)`,
    )
    this.#insertCommit = database.prepare(
      'insert into accept_commit (last_sequence, first_sequence, took_us) values (?, ?, ?)',
    )
    this.#findKey = database.prepare(
      'select fingerprint, message_sequence, accepted_at from idempotency where account_id = ? and key = ?',
    )
    this.#putKey = database.prepare(
      `insert into idempotency (account_id, key, fingerprint, message_sequence, accepted_at) values (?, ?, ?, ?, ?)
         on conflict (account_id, key) do update set fingerprint = excluded.fingerprint,
           message_sequence = excluded.message_sequence, accepted_at = excluded.accepted_at`,
    )
    this.#findMessage = database.prepare('select id, state from message where sequence = ?')
    this.#noteUse = database.prepare('update token set last_used_at = ? where id = ?')
    parts.commits.join(this)
  }

  findToken(tokenSha256: Buffer): Token | null {
    this.#parts.directory.refreshOncePerTurn()
    return this.#parts.directory.tokenByHash(tokenSha256)
  }

  namesMessage(accountId: AccountId, key: string): boolean {
    return this.#liveKey(accountId, key, this.#parts.clock.now()) !== null
  }

  isBacklogFull(accountId: AccountId, from: string | null): 'connection_backlog_full' | 'account_backlog_full' | null {
    const { counts, limits, directory } = this.#parts
    if (limits.maxWaitingPerAccount > 0 && counts.ofAccount(accountId) >= limits.maxWaitingPerAccount)
      return 'account_backlog_full'
    if (from === null || limits.maxWaitingPerConnection === 0) return null
    const connection = directory.connectionByNumber(accountId, from)
    return connection && counts.ofConnection(connection.id) >= limits.maxWaitingPerConnection
      ? 'connection_backlog_full'
      : null
  }

  async accept(candidate: Candidate): Promise<AcceptResult> {
    try {
      const result = await this.#parts.commits.submit(() => this.#decideAndStore(candidate))
      if (result.kind === 'accepted') this.#parts.counts.change(result.connectionId, candidate.accountId, 1)
      return result
    } catch (error) {
      if (error instanceof StorageUnavailable)
        return { kind: 'unavailable', code: error.unknown ? 'commit_unknown' : 'not_accepted' }
      throw error
    }
  }

  async logRefused(request: RefusedRequest): Promise<boolean> {
    const { facts } = request
    try {
      await this.#parts.commits.submit(() => {
        this.#noteTokenUse(request.tokenId, facts.receivedAt)
        this.#writeRequest(facts, request)
      })
      return true
    } catch (error) {
      if (error instanceof StorageUnavailable) return false
      throw error
    }
  }

  async logSummed(sum: SummedRefusals): Promise<boolean> {
    try {
      await this.#parts.commits.submit(() => this.#writeSum(sum))
      return true
    } catch (error) {
      if (error instanceof StorageUnavailable) return false
      throw error
    }
  }

  // Participant: measures each shared commit, and writes the row of the previous one.

  begin(): void {
    this.#batchStartedMs = this.#parts.clock.monotonic()
    this.#firstSequence = 0
    this.#parts.directory.refresh()
    if (this.#finished) this.#insertCommit.run(this.#finished.last, this.#finished.first, this.#finished.tookUs)
  }

  committed(tookMs: number): void {
    this.#finished =
      this.#firstSequence === 0
        ? null
        : { first: this.#firstSequence, last: this.#lastSequence, tookUs: Math.round(tookMs * 1000) }
  }

  rolledBack(): void {
    // Token uses in the lost transaction must be written again.
    this.#usedAt.clear()
  }

  #decideAndStore(candidate: Candidate): AcceptResult {
    const { directory, clock, sendable } = this.#parts
    const now = clock.now()
    const token = directory.tokenById(candidate.tokenId)
    const connection = directory.connectionByNumber(candidate.accountId, candidate.from)
    const refusal = decideAcceptance(token, connection?.id ?? null, now)
    if (refusal === 'unauthorized' || refusal === 'event_missing') return { kind: 'refused', code: refusal }
    const repeat = candidate.idempotency && this.#repeat(candidate, candidate.idempotency, now)
    if (repeat) return repeat
    if (refusal || !connection) return { kind: 'refused', code: refusal ?? 'connection_not_found' }
    this.#sendable ??= new Set(sendable())
    if (!this.#sendable.has(`${connection.channel}/${candidate.content.type}`))
      return { kind: 'refused', code: 'type_unsupported_by_channel' }
    return this.#store(candidate, connection, now)
  }

  #store(candidate: Candidate, connection: DirectoryConnection, now: Instant): AcceptResult {
    const { facts, content } = candidate
    const id = randomUUIDv7() as MessageId
    const tookUs = this.#tookUs(facts)
    const { lastInsertRowid } = this.#insertMessage.run(
      id,
      candidate.accountId,
      connection.id,
      candidate.tokenId,
      facts.requestId,
      candidate.body,
      crc32(candidate.body),
      candidate.to,
      content.type,
      now,
      facts.remoteAddress,
      facts.userAgent,
      tookUs,
    )
    const sequence = Number(lastInsertRowid)
    this.#firstSequence ||= sequence
    this.#lastSequence = sequence
    this.#parts.tail.add(connection.id, sequence)
    if (content.type !== 'message') {
      this.#insertMedia.run(sequence, candidate.accountId, connection.id, content.url, content.type, now)
    }
    if (candidate.idempotency) {
      this.#putKey.run(candidate.accountId, candidate.idempotency.key, candidate.idempotency.fingerprint, sequence, now)
    }
    this.#noteTokenUse(candidate.tokenId, now)
    return { kind: 'accepted', messageId: id, connectionId: connection.id, sequence }
  }

  /** Null when the key names no message. A replay writes its own row in the commit that decides it. */
  #repeat(candidate: Candidate, given: { key: string; fingerprint: string }, now: Instant): AcceptResult | null {
    const row = this.#liveKey(candidate.accountId, given.key, now)
    if (!row) return null
    if (row.fingerprint !== given.fingerprint) return { kind: 'refused', code: 'idempotency_key_reused' }
    const message = this.#findMessage.get(row.message_sequence) as { id: MessageId; state: MessageState } | undefined
    if (!message) return null
    this.#writeRequest(candidate.facts, {
      accountId: candidate.accountId,
      tokenId: candidate.tokenId,
      status: 200,
      code: 'HC-1',
      errors: null,
      body: candidate.body,
      message,
    })
    return { kind: 'replayed', messageId: message.id, state: message.state }
  }

  #liveKey(accountId: AccountId, key: string, now: Instant): KeyRow | null {
    const row = this.#findKey.get(accountId, key) as KeyRow | undefined
    return row && now - row.accepted_at < IDEMPOTENCY_KEPT_MS ? row : null
  }

  #writeRequest(
    facts: RequestFacts,
    row: {
      accountId: string
      tokenId: string
      status: number
      code: string
      errors: string | null
      body: string | null
      message?: { id: MessageId; state: MessageState }
    },
  ): void {
    this.#insertRequest.run(
      row.accountId,
      row.tokenId,
      facts.requestId,
      facts.receivedAt,
      this.#tookUs(facts),
      row.status,
      row.code,
      row.errors,
      row.body,
      row.message?.id ?? null,
      row.message?.state ?? null,
      facts.remoteAddress,
      facts.userAgent,
    )
  }

  #writeSum({ accountId, tokenId, requestId, until, status, code, errors, requests, since }: SummedRefusals): void {
    this.#noteTokenUse(tokenId, Math.max(since, this.#usedAt.get(tokenId) ?? 0))
    const own = [accountId, requestId] as const
    this.#insertSum.run(accountId, tokenId, requestId, until, status, code, errors, requests, since, ...own)
  }

  #noteTokenUse(tokenId: string, now: Instant): void {
    const noted = this.#usedAt.get(tokenId)
    if (noted !== undefined && now - noted < TOKEN_USE_NOTED_EVERY_MS && now >= noted) return
    this.#usedAt.set(tokenId, now)
    this.#noteUse.run(now, tokenId)
  }

  #tookUs(facts: RequestFacts): number {
    return Math.max(0, Math.round((this.#batchStartedMs - facts.receivedMonotonic) * 1000))
  }
}
