import { existsSync } from 'node:fs'
import { commandLine } from '../../../core/command-line.ts'
import type { ConnectionView } from '../../../core/ports/administration.ts'
import type { ConnectionFact } from '../../../core/ports/channel-onboarding.ts'
import type { ConnectionService } from '../../../core/ports/connection-service.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const ASKED_AT_ONCE = 4
// Each may take as long as its network lets it; the others are for `nuncio connection check`.
const MOST_ASKED = 40

/** Asks the network of each connection, as `nuncio connection check` does. No message is sent. */
export async function checkChannels(examination: Examination): Promise<readonly CheckResult[]> {
  const { openSession, isOffline, settings } = examination
  const session = await openSession()
  if (!session || !settings) return [skipped('There is no database to check.')]
  const connections = await session.administration.listConnections(null)
  const withNetwork = connections.filter(({ link, state }) => link !== null && state === 'active')
  if (withNetwork.length === 0) return [skipped('No active connection has a network to ask; the sandbox has none.')]
  if (isOffline) return [skipped(`${withNetwork.length} connections were not checked, because of --offline.`)]
  // Asking opens secrets, and without a ring one would be made.
  if (!existsSync(settings.keyRingFile)) return [skipped('Without the key ring no network can be asked.')]
  const asked = withNetwork.slice(0, MOST_ASKED)
  const results = await checkAll(asked, session.connecting)
  const bad = results.filter(({ status }) => status !== 'ok')
  const left = withNetwork.length - asked.length
  const works = results.length - bad.length
  return [
    ...bad,
    ...(works > 0
      ? [ok(`${works} of ${asked.length} connections answer, and work.`, { works, asked: asked.length })]
      : []),
    ...(left > 0 ? [skipped(`${left} more connections were not asked: ${commandLine`connection check NUMBER`}.`)] : []),
  ]
}

async function checkAll(connections: readonly ConnectionView[], connecting: ConnectionService): Promise<CheckResult[]> {
  const waiting = connections.values()
  const results: CheckResult[] = []
  const askInTurn = async () => {
    for (const connection of waiting) results.push(await checkOne(connection, connecting))
  }
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askInTurn))
  return results
}

async function checkOne(connection: ConnectionView, connecting: ConnectionService): Promise<CheckResult> {
  const { number, channel } = connection
  try {
    // Nothing is stored: the doctor changes nothing.
    return assessFacts(number, (await connecting.check(connection, async () => [])).facts)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return problem(
      `The connection ${number} (${channel}) does not work: ${error.message}`,
      `Fix it, then: ${commandLine`connection check ${number}`}`,
      { number, channel, code: error.code },
    )
  }
}

/** Pure. */
function assessFacts(number: string, facts: readonly ConnectionFact[]): CheckResult {
  const said = facts.filter(({ tone }) => tone === 'warning' || tone === 'bad')
  if (said.length === 0) return ok(`The connection ${number} works.`, { number })
  return warning(
    `The connection ${number} works, but its network says: ${said.map(({ label, value }) => `${label}: ${value}`).join('; ')}.`,
    `See ${commandLine`connection check ${number}`}`,
    { number },
  )
}
