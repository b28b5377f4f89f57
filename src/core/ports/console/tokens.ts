import type { AccountId, ConnectionId, Instant, TokenId } from '../../ids.ts'
import type { TokenEvent } from '../../token/token.ts'
import type { Actor, ConnectionState, NewToken } from '../administration.ts'

export type TokenTab = 'active' | 'expired' | 'deleted'

export interface TokenConnection {
  readonly id: ConnectionId
  readonly number: string
  readonly name: string | null
  readonly channel: string
  readonly state: ConnectionState
}

export interface TokenRow {
  readonly id: TokenId
  readonly name: string
  /** The first 8 characters after `nco_`. */
  readonly prefix: string
  readonly events: readonly TokenEvent[]
  /** The connections it is bound to; null: all of the account. */
  readonly connections: readonly TokenConnection[] | null
  /** Null: it may be used from anywhere. */
  readonly sourceRanges: readonly string[] | null
  readonly createdAt: Instant
  /** Null: from before this was kept. */
  readonly createdBy: string | null
  readonly expiresAt: Instant
  /** To the minute. */
  readonly lastUsedAt: Instant | null
  readonly deletedAt: Instant | null
  /** The token that replaces it; null when none does. */
  readonly successorId: TokenId | null
}

interface NamedToken {
  readonly id: TokenId
  readonly name: string
}

export interface TokenDetails extends TokenRow {
  /** Null: it is not deleted, or the audit log no longer has it. */
  readonly deletedBy: string | null
  readonly successor: NamedToken | null
  /** What it replaces. */
  readonly predecessor: NamedToken | null
}

export interface TokenRows {
  readonly items: readonly TokenRow[]
  /** The cursor of the next page; null: there is none. */
  readonly next: string | null
  /** How many of the account are in each tab. */
  readonly counts: Readonly<Record<TokenTab, number>>
}

/** How often one caller used a token. A caller is an address and a user agent. */
export interface TokenCaller {
  readonly tokenId: TokenId
  readonly address: string | null
  readonly userAgent: string | null
  /** Accepted and repeated ones too. */
  readonly requests: number
  readonly refused: number
  readonly lastAt: Instant
}

/**
 * Counted from the newest request of the account backwards, over no more of them than can be read quickly:
 * there is no index by token, because each acceptance would pay for it.
 */
export interface TokenUse {
  /** From when on everything is counted: as asked for, or later when there are too many requests. */
  readonly countedFrom: Instant
  readonly isComplete: boolean
  readonly callers: readonly TokenCaller[]
}

/** How many requests of a token had the same connection and the same result. */
export interface TokenActivityEntry {
  /** The sender number; null of a request that made no message. */
  readonly number: string | null
  readonly type: string | null
  /** The current state of the message; null for a request that made none. */
  readonly state: string | null
  /** The HTTP status of the reply to a request that made no message. */
  readonly status: number | null
  readonly count: number
}

export interface TokenActivity extends TokenUse {
  readonly activity: readonly TokenActivityEntry[]
}

interface Rotation {
  readonly id: TokenId
  /** When the old one ends; null: in 7 days, or when it would have anyway. */
  readonly oldEndsAt: Instant | null
  readonly expiresAt: Instant
  readonly sha256: Buffer
  readonly prefix: string
}

/** What the console shows of tokens and does with them. Creating and deleting are in `Administration`. */
export interface TokenViews {
  /** Newest first, at most 50. An `after` that is no cursor begins at the newest. */
  listTokenRows(
    accountId: AccountId,
    which: { readonly tab: TokenTab; readonly after: string | null },
  ): Promise<TokenRows>
  /** Refuses with `token_unknown`, also for a token of another account. */
  readToken(accountId: AccountId, id: TokenId): Promise<TokenDetails>
  /** Who used which tokens since then. With a token: only that one. */
  countTokenUse(
    accountId: AccountId,
    wanted: { readonly tokenId: TokenId | null; readonly since: Instant },
  ): Promise<TokenUse>
  /** What was done with a token since then. Refuses with `token_unknown`. */
  describeTokenUse(accountId: AccountId, id: TokenId, since: Instant): Promise<TokenActivity>
  /** All of the account but removed ones, by number: what a token can be bound to. */
  listTokenConnections(accountId: AccountId): Promise<readonly TokenConnection[]>
  /** Refuses with `token_exists`. For a form that shows all errors at once. */
  refuseTakenName(accountId: AccountId, name: string): Promise<void>
  /**
   * Creates a token as Administration does, if the connections it is bound to are of its account and not removed.
   * Refuses with `token_exists` and `connection_unknown`.
   */
  createBoundToken(token: NewToken, actor: Actor): Promise<TokenDetails>
  /** Refuses with `token_unknown`, for a deleted one too, and with `token_exists`. */
  renameToken(
    accountId: AccountId,
    renaming: { readonly id: TokenId; readonly name: string },
    actor: Actor,
  ): Promise<TokenDetails>
  /**
   * Makes a successor with the same name, events and bindings. The old one is renamed, and ends at the given time, in
   * the same transaction. Returns the successor. Refuses with `token_unknown`; with `token_ended` when the old one is
   * deleted, has expired or has a successor already; with `expiry_invalid` when it would end outside its life.
   */
  rotateToken(accountId: AccountId, rotation: Rotation, actor: Actor): Promise<TokenDetails>
}
