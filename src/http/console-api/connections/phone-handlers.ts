import type { PhoneRequestView, phoneRoutes } from '../../../contract/console/phone.ts'
import { STEP_UP_LASTS_MS } from '../../../core/people/lifetimes.ts'
import type { SessionRequestView } from '../../../core/ports/console/device-sessions.ts'
import { placeOfCode } from '../../../core/ports/session-requests.ts'
import { Refusal } from '../../../core/refusals.ts'
import { explainRequestEnd } from '../../../core/sentences/explain-session.ts'
import { requireFreshProof } from '../authorize.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest, Handlers } from '../request-context.ts'
import { own } from './connection-info.ts'

// The person is not asked again while a code is shown: a request takes minutes, and needed a step-up itself.
const PROOF_LASTS_MS = STEP_UP_LASTS_MS + 10 * 60_000

/** Handlers for the phone that a connection is linked to. */
export function phoneHandlers({ store, secrets, connectionService }: ConsoleDeps): Handlers<typeof phoneRoutes> {
  const { deviceSessions, lanes } = store
  const readLinked = async (params: { readonly id: string }, context: AccountRequest) => {
    const { number, channel, waiting } = await lanes.readLane(own(params, context))
    if (!connectionService.abilitiesOf(channel).isLinkedDevice) throw new Refusal('channel_without_phone')
    return { channel, lane: { number, hasWaiting: waiting.count > 0 } }
  }
  const present = (
    view: SessionRequestView,
    { id, lane, context }: { readonly id: string; readonly lane: LinkedLane; readonly context: AccountRequest },
  ) => {
    const code = view.code && secrets.open(view.code, placeOfCode(own({ id }, context), view.id))
    return presentRequest(view, { ...lane, code, now: context.now })
  }
  return {
    async requestPhone({ params: { id }, body }, context) {
      const { channel, lane } = await readLinked({ id }, context)
      await connectionService.requireInstalled(channel)
      const view = await deviceSessions.request(own({ id }, context), body.kind, context.actor)
      return present(view, { id, lane, context })
    },
    async watchPhone({ params: { id, request } }, context) {
      requireFreshProof(context, PROOF_LASTS_MS)
      const { lane } = await readLinked({ id }, context)
      return present(await deviceSessions.watch(own({ id }, context), request), { id, lane, context })
    },
    async cancelPhone({ params: { id, request } }, context) {
      await deviceSessions.cancel(own({ id }, context), request, context.actor)
      return { done: true }
    },
  }
}

interface LinkedLane {
  readonly number: string
  readonly hasWaiting: boolean
}

interface Shown extends LinkedLane {
  readonly code: string | null
  readonly now: number
}

function presentRequest(
  { id, kind, by, progress, hasWorker }: SessionRequestView,
  { number, hasWaiting, code, now }: Shown,
): PhoneRequestView {
  const { state, shown } = progress
  const { sentence, nextStep } = explainRequestEnd({ number, kind, hasWaiting }, progress)
  const { end = 'failed' } = progress
  return {
    ...{ id, kind, by, state, code, hasWorker },
    shown: shown ? { number: shown.number, of: shown.of, validMs: Math.max(0, shown.until - now) } : null,
    end: state === 'ended' ? { isDone: end === 'done', code: end, sentence, nextStep } : null,
  }
}
