import type { AccountId, ConnectionId, Instant, MessageId, TokenId } from '../ids.ts'
import type { MessageContent, MessageState, Sequence } from '../message/message.ts'
import type { RefusalCode } from '../refusals.ts'
import type { Token } from '../token/token.ts'

/** Where a request came from and when: what the API log keeps of every request, whatever became of it. */
export interface RequestFacts {
  readonly requestId: string
  readonly receivedAt: Instant
  /** Milliseconds by the monotonic clock at `receivedAt`, to measure how long the request took. */
  readonly receivedMonotonic: number
  readonly remoteAddress: string
  /** Null when none was sent. At most 256 characters. */
  readonly userAgent: string | null
}

/** A request that passed every check that needs no storage. */
export interface Candidate {
  readonly facts: RequestFacts
  readonly tokenId: TokenId
  readonly accountId: AccountId
  readonly from: string
  readonly to: string
  readonly content: MessageContent
  /** The request body as it came, byte for byte. */
  readonly body: string
  /** Null when the caller sent no `Idempotency-Key`. */
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | null
}

/** What became of a request to send. */
export type AcceptResult =
  | {
      readonly kind: 'accepted'
      readonly messageId: MessageId
      readonly connectionId: ConnectionId
      readonly sequence: Sequence
    }
  /** The idempotency key named this message already, with the same content. Its log row is committed. */
  | { readonly kind: 'replayed'; readonly messageId: MessageId; readonly state: MessageState }
  /** Decided inside the accepting transaction. Nothing was stored; the caller logs it with `logRefused`. */
  | {
      readonly kind: 'refused'
      readonly code: Extract<
        RefusalCode,
        | 'unauthorized'
        | 'event_missing'
        | 'connection_not_allowed'
        | 'connection_not_found'
        | 'idempotency_key_reused'
        | 'type_unsupported_by_channel'
      >
    }
  /** Storage could not commit. `commit_unknown` when it may have committed after all. */
  | { readonly kind: 'unavailable'; readonly code: 'not_accepted' | 'commit_unknown' }

/** A request that was refused after its token was recognised, for the log of its account. */
export interface RefusedRequest {
  readonly facts: RequestFacts
  readonly accountId: AccountId
  readonly tokenId: TokenId
  readonly status: number
  /** HC-… */
  readonly code: string
  /** The refusal codes with their fields, as JSON text. */
  readonly errors: string
  /** As it came; null when it was not read or is no text. */
  readonly body: string | null
}

/** Refused requests that are not kept one by one: how many came with one token and were refused for one reason. */
export interface SummedRefusals {
  /** An id of its own, as if it were one request. A sum with an id that is stored already is not written again. */
  readonly requestId: string
  readonly accountId: AccountId
  readonly tokenId: TokenId
  readonly status: number
  /** HC-… */
  readonly code: string
  /** What was found wrong first, as JSON text. */
  readonly errors: string
  readonly requests: number
  /** All of them came at or after this… */
  readonly since: Instant
  /** …and before this or at it. */
  readonly until: Instant
}

/** What the accepting path needs of storage. */
export interface Intake {
  /**
   * The token with this SHA-256, deleted and expired ones too; null when there is none. Only a hint, which may be a
   * second old: `accept` decides (G7). A promise where it must be looked up; that rejects with StorageUnavailable when
   * the database is unavailable.
   */
  findToken(tokenSha256: Buffer): Token | null | Promise<Token | null>

  /**
   * Whether an idempotency key of the account names a message, within its 24 hours. Only a hint: `accept` decides. A
   * promise, which may reject with StorageUnavailable, where it must be looked up.
   */
  namesMessage(accountId: AccountId, key: string): boolean | Promise<boolean>

  /** True when the account, or the connection with this number (null: not known yet), has as many messages waiting as it may. */
  isBacklogFull(accountId: AccountId, from: string | null): 'connection_backlog_full' | 'account_backlog_full' | null

  /**
   * Checks the token and the connection again, and stores the message, its place in the lane, its idempotency key
   * and its log row in one transaction. Calls of one event-loop turn share a commit; a bad row never fails the others.
   *
   * `accepted` and `replayed` are returned only after the commit reached the disk (G1). Two calls with the same
   * idempotency key at the same moment make one message. Never throws for what storage does: see `unavailable`.
   */
  accept(candidate: Candidate): Promise<AcceptResult>

  /** Keeps a refused request in the API log. Resolves once committed; false when it could not be stored. */
  logRefused(request: RefusedRequest): Promise<boolean>

  /**
   * Keeps in the API log how many were refused. Resolves once committed; false when that failed, or may have failed: a
   * second try counts nothing twice. Calls of one turn of the event loop are written together.
   */
  logSummed(sum: SummedRefusals): Promise<boolean>
}
