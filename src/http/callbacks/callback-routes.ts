import type { FastifyInstance } from 'fastify'
import type { CallbackReceiver } from '../../core/ports/callbacks.ts'
import { DeadlineQueue } from '../server/deadline-queue.ts'
import { contextOf } from '../server/request-context.ts'
import type { ServerState } from '../server/server-state.ts'
import { BODY_MEMORY, BodyMemoryBudget } from './body-memory-budget.ts'
import { Callback, type CallbackDeps } from './callback.ts'

interface CallbackRoutesInput {
  readonly callbacks: readonly CallbackReceiver[]
  isAccepting(): boolean
}

/** `/channels/<channel>/<app>`: where networks send their reports. Each channel finds the account and verifies the report. */
export function addCallbackRoutes(app: FastifyInstance, state: ServerState, input: CallbackRoutesInput): void {
  const deps: CallbackDeps = {
    budget: new BodyMemoryBudget(BODY_MEMORY),
    deadlines: new DeadlineQueue(state.clock, state.limits.storageWaitMs),
    stalls: new DeadlineQueue(state.clock, state.limits.callbackStallMs),
    isAccepting: () => input.isAccepting(),
  }
  for (const receiver of input.callbacks) {
    app.all<{ Params: { app: string } }>(`/channels/${receiver.channel}/:app`, {
      // As with the send endpoint: the hook handles the whole request and never continues.
      onRequest: (request) => new Callback(deps, contextOf(request.raw), receiver).start(request.params.app),
      handler: () => undefined,
    })
  }
}
