/**
 * The result of a check. `warning` works now and may hurt later; `problem` loses messages, stops them, or keeps the service
 * from starting; `skipped` could not be checked here, and says why.
 */
export type CheckStatus = 'ok' | 'warning' | 'problem' | 'skipped'

/** In the order in which they run. */
export const CHECKS = [
  'settings',
  'program',
  'limits',
  'data folder',
  'disk',
  'flush',
  'database',
  'key ring',
  'clock',
  'time zones',
  'service',
  'tls',
  'attention',
  'channels',
  'resolver',
  'outbound',
  'kill test',
] as const
export type CheckName = (typeof CHECKS)[number]

/** One result of a check. A check that finds several things returns several. */
export interface Finding {
  readonly check: CheckName
  readonly status: CheckStatus
  /** What was seen. */
  readonly sentence: string
  /** What to do about it; null when nothing is to be done. */
  readonly nextStep: string | null
  /** The figures behind it, by name. */
  readonly facts: Facts
}

export type Facts = Readonly<Record<string, string | number | boolean | null>>

/** A finding without the name of its check, as the checks make it. */
export type CheckResult = Omit<Finding, 'check'>

export function ok(sentence: string, facts: Facts = {}): CheckResult {
  return { status: 'ok', sentence, nextStep: null, facts }
}

export function skipped(sentence: string, facts: Facts = {}): CheckResult {
  return { status: 'skipped', sentence, nextStep: null, facts }
}

export function warning(sentence: string, nextStep: string, facts: Facts = {}): CheckResult {
  return { status: 'warning', sentence, nextStep, facts }
}

export function problem(sentence: string, nextStep: string, facts: Facts = {}): CheckResult {
  return { status: 'problem', sentence, nextStep, facts }
}
