import { commandLine } from '../../core/command-line.ts'
import type { Instant } from '../../core/ids.ts'
import type { ConnectionView } from '../../core/ports/administration.ts'
import type { DeviceSessionView } from '../../core/ports/console/device-sessions.ts'
import { Refusal } from '../../core/refusals.ts'
import { explainSession } from '../../core/sentences/explain-session.ts'
import { plainTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'

/** Refuses a connection that has no phone. */
export function linkedConnection(
  { connectionService }: AdministrationSession,
  { number, channel }: ConnectionView,
): void {
  if (!connectionService.abilitiesOf(channel).isLinkedDevice)
    throw new Refusal(
      'channel_without_phone',
      `${number} is a connection of ${channel}, which is not linked to a phone.`,
    )
}

interface CheckedSession {
  /** Null: nothing is known of it. */
  readonly view: DeviceSessionView | null
  /** False: the status is that of the time when the last worker ended. */
  readonly hasWorker: boolean
  readonly now: Instant
}

/** The status of a connection's session, one fact in each line. */
export function deviceSessionLines(number: string, { view, hasWorker, now }: CheckedSession): readonly string[] {
  const status = view?.status ?? 'unlinked'
  // All other statuses hold without a worker, too.
  const isStale = !hasWorker && (status === 'ready' || status === 'connecting')
  const { sentence, nextStep, command } = isStale ? notRunning(number) : explainSession(number, view, now)
  const next = [nextStep, command].filter((part) => part !== null).join(' → ')
  const login = view?.lastLogin
  const facts = login
    ? [
        ...(view.isLinked ? [`  Device      ${login.device} of the phone’s linked devices`] : []),
        `  Last login  ${plainTime(login.at)}`,
        `  Version     ${login.version}`,
      ]
    : []
  return [sentence, ...(next === '' ? [] : [`  ${next}`]), ...facts]
}

function notRunning(number: string): ReturnType<typeof explainSession> {
  return {
    sentence: `No worker runs, so ${number} is not logged in.`,
    nextStep: 'Start Nuncio.',
    command: commandLine`serve`,
  }
}
