import type { AccountId, Instant } from '../../ids.ts'
import type { Actor } from '../administration.ts'

export interface AuditEntry {
  readonly sequence: number
  readonly at: Instant
  /** `cli`, `first start`, or the e-mail of a person. */
  readonly actor: string
  /** Such as `token.create`. */
  readonly action: string
  /** The id of what was changed. */
  readonly object: string
  /** The number of a connection or the name of a token; null: it is gone, or has none. */
  readonly objectName: string | null
  readonly detail: Readonly<Record<string, unknown>> | null
  readonly remoteAddress: string | null
  readonly userAgent: string | null
}

export interface AuditFilter {
  readonly actor: string | null
  /** The first words of actions, such as `token` of `token.create`. */
  readonly actions: readonly string[] | null
}

/** What people did. It only ever grows. */
export interface AuditLog {
  /**
   * The entries of one account before that sequence, newest first. Also what its members did to themselves and how they signed
   * in, but nothing that concerns other accounts.
   */
  list(wanted: {
    readonly accountId: AccountId
    readonly before: number | null
    readonly limit: number
    readonly filter: AuditFilter
  }): Promise<readonly AuditEntry[]>
  noteExport(accountId: AccountId, filter: Readonly<Record<string, unknown>>, by: Actor): Promise<void>
  /** Notes an event that changed nothing, such as a failed sign-in. */
  note(
    what: {
      readonly action: string
      readonly personId: string | null
      readonly detail?: Readonly<Record<string, unknown>>
    },
    by: Actor,
  ): Promise<void>
}
