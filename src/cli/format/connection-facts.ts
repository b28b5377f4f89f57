import type { ConnectionFact } from '../../core/ports/channel-onboarding.ts'
import type { CallbackAddress } from '../../core/ports/connection-service.ts'
import { plainTime } from '../../format/instants.ts'
import { printable } from './printable.ts'

const MARKS: Readonly<Record<ConnectionFact['tone'], string>> = { plain: '', good: '', warning: '  (!)', bad: '  (!!)' }

/** What a network said about a connection, one fact in each line. */
export function factLines(facts: readonly ConnectionFact[]): readonly string[] {
  return lines(facts.map(({ label, value, tone }) => [label, `${value}${MARKS[tone]}`]))
}

/** The address for callbacks, and why the network may not reach it. */
export function callbackLines(callback: CallbackAddress): readonly string[] {
  const named = lines([
    ['Callback URL', callback.url],
    ['Verify token', 'the one you gave as verify_token'],
    ['Last report', callback.lastReportAt === null ? 'none yet' : plainTime(callback.lastReportAt)],
  ])
  return callback.problem === null ? named : [...named, `  ${callback.problem}`]
}

function lines(pairs: readonly (readonly [label: string, value: string])[]): readonly string[] {
  const width = Math.max(...pairs.map(([label]) => label.length))
  return pairs.map(([label, value]) => `  ${printable(label).padEnd(width)}  ${printable(value)}`)
}
