import { commandLine } from '../../../core/command-line.ts'
import type { ConnectionView } from '../../../core/ports/administration.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem } from '../finding.ts'

export async function checkTimeZones({ openSession }: Examination): Promise<CheckResult> {
  const session = await openSession()
  const connections = session ? await session.administration.listConnections(null) : []
  return assessTimeZones(connections, isKnown)
}

/** Pure. */
export function assessTimeZones(
  connections: readonly Pick<ConnectionView, 'number' | 'policy'>[],
  isKnownZone: (zone: string) => boolean,
): CheckResult {
  const quiet = connections.filter(({ policy }) => policy.quietHours !== null)
  const zones = new Set(quiet.map(({ policy }) => policy.quietHours?.timeZone ?? ''))
  const unknown = [...zones].filter((zone) => !isKnownZone(zone))
  const numbers = quiet.filter(({ policy }) => unknown.includes(policy.quietHours?.timeZone ?? ''))
  const facts = { zones: zones.size, unknown: unknown.join(', ') }
  if (numbers.length > 0)
    return problem(
      `This Node does not know the time zone ${unknown.join(', ')}, so that ${numbers.map(({ number }) => number).join(', ')} would send in quiet hours.`,
      `Use a Node with all time zones (full ICU), or name another zone: ${commandLine`connection set NUMBER quiet_hours=22:00-07:00@ZONE`}`,
      facts,
    )
  // Even without quiet hours: an operator who sets some later learns of the problem now, and not at night.
  if (!isKnownZone('America/Sao_Paulo'))
    return problem(
      'This Node knows hardly any time zones, so that quiet hours cannot be kept.',
      'Use a Node with full ICU.',
      facts,
    )
  return ok(
    zones.size === 0 ? 'Time zones are known.' : `All ${zones.size} time zones of quiet hours are known.`,
    facts,
  )
}

function isKnown(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-GB', { timeZone: zone })
    return true
  } catch {
    return false
  }
}
