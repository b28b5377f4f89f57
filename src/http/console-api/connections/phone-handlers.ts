import type { PhoneRequestView, phoneRoutes } from '../../../contract/console/phone.ts'
import type { SessionRequestView } from '../../../core/ports/console/device-sessions.ts'
import { placeOfCode } from '../../../core/ports/session-requests.ts'
import { Refusal } from '../../../core/refusals.ts'
import { explainRequestEnd } from '../../../core/sentences/explain-session.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'
import { own } from './connection-info.ts'

/** Handlers for the phone that a connection is linked to. */
export function phoneHandlers({ store, secrets, connectionService }: ConsoleDeps): Handlers<typeof phoneRoutes> {
  const { deviceSessions, lanes } = store
  const numberOf = async (params: { readonly id: string }, context: AccountRequest) => {
    const { number, channel } = await lanes.readLane(own(params, context))
    if (!connectionService.abilitiesOf(channel).isLinkedDevice) throw new Refusal('channel_without_phone')
    return { number, channel }
  }
  const present = (
    view: SessionRequestView,
    { id, number, context }: { readonly id: string; readonly number: string; readonly context: AccountRequest },
  ) => {
    const code = view.code && secrets.open(view.code, placeOfCode(own({ id }, context), view.id))
    return presentRequest(view, { number, code, now: context.now })
  }
  return {
    async requestPhone({ params: { id }, body }, context) {
      const { number, channel } = await numberOf({ id }, context)
      await connectionService.requireInstalled(channel)
      const view = await deviceSessions.request(own({ id }, context), body.kind, context.actor)
      return present(view, { id, number, context })
    },
    async watchPhone({ params: { id, request } }, context) {
      const { number } = await numberOf({ id }, context)
      return present(await deviceSessions.watch(own({ id }, context), request), { id, number, context })
    },
    async cancelPhone({ params: { id, request } }, context) {
      await deviceSessions.cancel(own({ id }, context), request, context.actor)
      return { done: true }
    },
  }
}

interface Shown {
  readonly number: string
  readonly code: string | null
  readonly now: number
}

function presentRequest(
  { id, kind, by, progress, hasWorker }: SessionRequestView,
  { number, code, now }: Shown,
): PhoneRequestView {
  const { state, shown } = progress
  const { sentence, nextStep } = explainRequestEnd({ number, kind }, progress)
  const { end = 'failed' } = progress
  return {
    ...{ id, kind, by, state, code, hasWorker },
    shown: shown ? { number: shown.number, of: shown.of, validMs: Math.max(0, shown.until - now) } : null,
    end: state === 'ended' ? { isDone: end === 'done', code: end, sentence, nextStep } : null,
  }
}
