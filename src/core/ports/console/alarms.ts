import type { AccountId, Instant } from '../../ids.ts'
import type { AlarmKind, AlarmSeverity } from '../../watchdog/alarm-kinds.ts'

/** An alarm as people read it. */
export interface AlarmView {
  readonly id: number
  readonly kind: AlarmKind
  readonly severity: AlarmSeverity
  /** What it is about. */
  readonly of: 'connection' | 'token' | 'account' | 'installation'
  /** The id of that. */
  readonly object: string
  /** The name of that for people: a number, the name of a token, a folder; empty if it has none. */
  readonly name: string
  /** The account's name; null: it is the whole installation's. */
  readonly account: string | null
  readonly since: Instant
  readonly raisedAt: Instant
  /** Null while it is open. */
  readonly clearedAt: Instant | null
  readonly cause: string
  /** Without commands; what to type is `command`. */
  readonly nextStep: string
  readonly command: string | null
}

/**
 * Whose alarms to show. `accountId` null: those of all accounts, for the operator. `seesInstallation`: also those of the whole
 * installation, if this account is the only one in it (G8).
 */
export interface AlarmScope {
  readonly accountId: AccountId | null
  readonly seesInstallation: boolean
}

/** What the watchdog has found. Only reads. */
export interface Alarms {
  /** Those that are open, the worst first, at most some hundred. */
  readOpen(whose: AlarmScope): Promise<readonly AlarmView[]>
  /** Open alarms and those cleared within the last 90 days, newest first. `before`: only those with a lower id; null: all. */
  list(wanted: AlarmScope & { readonly before: number | null; readonly limit: number }): Promise<readonly AlarmView[]>
}
