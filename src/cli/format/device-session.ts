import type { ConnectionView } from '../../core/ports/administration.ts'
import type { DeviceSessionView } from '../../core/ports/console/device-sessions.ts'
import { Refusal } from '../../core/refusals.ts'
import { explainSession } from '../../core/sentences/explain-session.ts'
import { plainTime } from '../../format/instants.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'

/** Refuses a connection that has no phone. */
export function linkedConnection({ connecting }: AdministrationSession, { number, channel }: ConnectionView): void {
  if (!connecting.abilitiesOf(channel).isLinkedDevice)
    throw new Refusal(
      'channel_without_phone',
      `${number} is a connection of ${channel}, which is not linked to a phone.`,
    )
}

/** How the session of a connection stands, a fact in a line. */
export function deviceSessionLines(number: string, view: DeviceSessionView | null): readonly string[] {
  const { sentence, nextStep, command } = explainSession(number, view?.status ?? 'unlinked')
  const next = [nextStep, command].filter((part) => part !== null).join(' → ')
  const login = view?.lastLogin
  const facts = login
    ? [
        `  Device      ${login.device} of the phone’s linked devices`,
        `  Last login  ${plainTime(login.at)}`,
        `  Version     ${login.version}`,
      ]
    : []
  return [sentence, ...(next === '' ? [] : [`  ${next}`]), ...facts]
}
