import type { PhoneView } from '../../../contract/console/phone.ts'
import type { DeviceSessionView } from '../../../core/ports/console/device-sessions.ts'
import { explainSession } from '../../../core/sentences/explain-session.ts'

// Sessions with these statuses try nothing, or not soon, until a person asks for it.
const USED_HERE = ['taken-elsewhere', 'banned', 'client-refused', 'unreadable', 'not-installed']

/** The phone that a connection is linked to. */
export function presentPhone(number: string, view: DeviceSessionView | null): PhoneView {
  const status = view?.status ?? 'unlinked'
  const { sentence, nextStep } = explainSession(number, view)
  const isLinked = view?.isLinked ?? false
  const login = view?.lastLogin ?? null
  return {
    status,
    sentence,
    nextStep,
    since: view?.since ?? null,
    isLinked,
    canUseHere: isLinked && USED_HERE.includes(status),
    lastLogin: login && { ...login },
  }
}
