import { existsSync } from 'node:fs'
import { commandLine } from '../../../core/command-line.ts'
import { hasDispatcher } from '../../../core/dispatch/workers/has-dispatcher.ts'
import type { Instant } from '../../../core/ids.ts'
import type { ConnectionView } from '../../../core/ports/administration.ts'
import type { ConnectionFact } from '../../../core/ports/channel-onboarding.ts'
import type { ConnectionService } from '../../../core/ports/connection-service.ts'
import { Refusal } from '../../../core/refusals.ts'
import { explainSession } from '../../../core/sentences/explain-session.ts'
import { counted } from '../../../format/counted.ts'
import type { AdministrationSession } from '../../../server/wiring/open-administration.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const ASKED_AT_ONCE = 4
// Each may take as long as its network lets it; the others are for `nuncio connection check`.
const MOST_ASKED = 40
const MOST_NAMED = 10

/** Asks the network of each connection, as `nuncio connection check` does. No message is sent. */
export async function checkChannels(examination: Examination): Promise<readonly CheckResult[]> {
  const session = await examination.openSession()
  if (!session) return [skipped('There is no database to check.')]
  const connections = (await session.administration.listConnections(null)).filter(({ state }) => state === 'active')
  const isLinked = ({ channel }: ConnectionView) => session.connectionService.abilitiesOf(channel).isLinkedDevice
  const linked = connections.filter(isLinked)
  const withNetwork = connections.filter((connection) => connection.link !== null && !isLinked(connection))
  if (linked.length + withNetwork.length === 0)
    return [skipped('No active connection has a network to ask; the sandbox has none.')]
  return [
    ...(await checkLinked(linked, session, examination.now())),
    ...(withNetwork.length > 0 ? await checkNetworks(withNetwork, session, examination) : []),
  ]
}

/** No network is asked about a linked device: the worker that holds the lane has stored the status of its session. */
async function checkLinked(
  linked: readonly ConnectionView[],
  session: AdministrationSession,
  now: Instant,
): Promise<readonly CheckResult[]> {
  if (linked.length === 0) return []
  if (!hasDispatcher(await session.administration.listWorkers()))
    return [
      skipped(`No worker runs that could log ${counted(linked.length, 'linked number')} in, so none was checked.`),
    ]
  const bad: CheckResult[] = []
  for (const connection of linked) {
    const found = await checkSession(connection, session, now)
    if (found) bad.push(found)
  }
  const works = linked.length - bad.length
  const bySeverity = bad.toSorted((one, other) => Number(isProblem(other)) - Number(isProblem(one)))
  const found = bySeverity.slice(0, MOST_NAMED)
  const rest = bySeverity.slice(MOST_NAMED)
  const left = rest.length
  if (left > 0) {
    const sentence = `${counted(left, 'more linked number sends', 'more linked numbers send')} nothing.`
    const report = rest.some(isProblem) ? problem : warning
    found.push(report(sentence, `See ${commandLine`connection list`}.`, { left }))
  }
  if (works > 0)
    found.push(
      ok(`${works} of ${counted(linked.length, 'linked number')} logged in.`, { works, linked: linked.length }),
    )
  return found
}

/** Null: it is logged in. */
async function checkSession(
  connection: ConnectionView,
  { deviceSessions, connectionService }: AdministrationSession,
  now: Instant,
): Promise<CheckResult | null> {
  const { id, accountId, number, channel } = connection
  const view = await deviceSessions.read({ accountId, id })
  if (!view) {
    // The worker that stores a status may run on another machine, which alone needs the packages.
    try {
      await connectionService.requireInstalled(channel)
    } catch (error) {
      return explainRefusal(connection, error)
    }
  }
  const status = view?.status ?? 'unlinked'
  if (status === 'ready') return null
  const { sentence, nextStep, command } = explainSession(number, view, now)
  const next = [nextStep, command].filter((part) => part !== null).join(' → ')
  // Its end comes by itself.
  return (status === 'connecting' ? warning : problem)(sentence, next, { number, channel, status })
}

function isProblem({ status }: CheckResult): boolean {
  return status === 'problem'
}

async function checkNetworks(
  withNetwork: readonly ConnectionView[],
  { connectionService }: AdministrationSession,
  { isOffline, settings }: Examination,
): Promise<readonly CheckResult[]> {
  if (isOffline)
    return [
      skipped(
        `${counted(withNetwork.length, 'connection was', 'connections were')} not checked, because of --offline.`,
      ),
    ]
  // Asking opens secrets, and without a ring one would be made.
  if (!settings || !existsSync(settings.keyRingFile)) return [skipped('Without the key ring no network can be asked.')]
  const asked = withNetwork.slice(0, MOST_ASKED)
  const results = await checkAll(asked, connectionService)
  const bad = results.filter(({ status }) => status !== 'ok')
  const left = withNetwork.length - asked.length
  const works = results.length - bad.length
  return [
    ...bad,
    ...(works > 0
      ? [
          ok(`${works} of ${counted(asked.length, 'connection')} answered, and can send.`, {
            works,
            asked: asked.length,
          }),
        ]
      : []),
    ...(left > 0
      ? [
          skipped(
            `${counted(left, 'more connection was', 'more connections were')} not asked: ${commandLine`connection check NUMBER`}.`,
          ),
        ]
      : []),
  ]
}

async function checkAll(
  connections: readonly ConnectionView[],
  connectionService: ConnectionService,
): Promise<CheckResult[]> {
  const waiting = connections.values()
  const results: CheckResult[] = []
  const askInTurn = async () => {
    for (const connection of waiting) results.push(await checkOne(connection, connectionService))
  }
  await Promise.all(Array.from({ length: ASKED_AT_ONCE }, askInTurn))
  return results
}

async function checkOne(connection: ConnectionView, connectionService: ConnectionService): Promise<CheckResult> {
  try {
    // Nothing is stored: the doctor changes nothing.
    return assessFacts(connection.number, (await connectionService.check(connection, async () => [])).facts)
  } catch (error) {
    return explainRefusal(connection, error)
  }
}

function explainRefusal({ number, channel }: ConnectionView, error: unknown): CheckResult {
  if (!(error instanceof Refusal)) throw error
  return problem(
    `The connection ${number} (${channel}) does not work: ${error.message}`,
    `Fix it, then: ${commandLine`connection check ${number}`}`,
    { number, channel, code: error.code },
  )
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
