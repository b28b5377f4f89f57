import type { AccountId, Instant } from '../ids.ts'
import type { AlarmKind, AlarmSeverity } from './alarm-kinds.ts'

/** The facts of an alarm's sentence. Stored as JSON. Each new `stage` is announced again. */
export type AlarmFacts = Readonly<Record<string, string | number | boolean | null>>

/** A problem that one check found. */
export interface Finding {
  readonly kind: AlarmKind
  /** Null: it is the whole installation's. */
  readonly accountId: AccountId | null
  /** The id of what it is about: a connection, a token, an account, a disk. */
  readonly object: string
  readonly severity: AlarmSeverity
  readonly since: Instant
  readonly facts: AlarmFacts
  /** False: not bad enough to raise an alarm, but too bad to clear one. */
  readonly raises: boolean
}

/** What was found and has not been found gone. */
export interface OpenAlarm {
  readonly id: number
  readonly kind: AlarmKind
  readonly accountId: AccountId | null
  readonly object: string
  readonly severity: AlarmSeverity
  readonly since: Instant
  readonly facts: AlarmFacts
  readonly raisedAt: Instant
  /** When its facts were last written. */
  readonly changedAt: Instant
}

/** One alarm at a time of each kind about each thing. */
export function alarmKey({ kind, object }: Pick<Finding, 'kind' | 'object'>): string {
  return `${kind} ${object}`
}
