import type { OperatorRanges } from '../../core/media-address/check-url.ts'
import type { AddressRange } from '../../core/media-address/ip-address.ts'
import type { Intake } from '../../core/ports/intake.ts'
import type { Token } from '../../core/token/token.ts'
import { DeadlineQueue } from '../server/deadline-queue.ts'
import { problem } from '../server/problem.ts'
import { isAmong } from '../server/repeated-headers.ts'
import type { RequestContext } from '../server/request-context.ts'
import type { ServerState } from '../server/server-state.ts'
import { sourceAddress } from '../server/source-address.ts'
import { AcceptRate } from './accept-rate.ts'
import { Authenticator } from './authenticator.ts'
import { parseIdempotencyKey } from './check-headers.ts'
import { RefusalAggregates } from './refusal-aggregates.ts'
import { RefusalBudget } from './refusal-budget.ts'
import { SendHandler, type SendHandlerDeps } from './send-handler.ts'
import { SourceRanges } from './source-ranges.ts'
import { TokenLookUp } from './token-look-up.ts'

export const SEND_PATH = '/chat/api/v1/public/message/send'

interface SendEndpointInput {
  readonly server: ServerState
  readonly intake: Intake
  readonly mediaRanges: OperatorRanges
  readonly trustedProxies: readonly AddressRange[]
  /** Messages per second, for all processes together; 0 means no limit. */
  readonly acceptRatePerAccount: number
  /** How many processes share the rate. */
  acceptingProcesses(): number
  /** How many bytes of refused requests are logged one by one per account and hour; 0 means no limit. */
  readonly refusedLogBytesPerHour: number
  isAccepting(): boolean
}

/** The public endpoint. It finds the token; `send-handler.ts` does everything after that. */
export class SendEndpoint {
  readonly #authenticator: Authenticator
  readonly #trustedProxies: readonly AddressRange[]
  readonly #deps: SendHandlerDeps

  constructor(input: SendEndpointInput) {
    const { server, intake, mediaRanges } = input
    this.#authenticator = new Authenticator(intake)
    this.#trustedProxies = input.trustedProxies
    this.#deps = {
      intake,
      deadlines: new DeadlineQueue(server.clock, server.limits.storageWaitMs),
      rate: new AcceptRate(server.clock, {
        perSecond: input.acceptRatePerAccount,
        acceptingProcesses: () => input.acceptingProcesses(),
      }),
      budget: new RefusalBudget(server.clock, input.refusedLogBytesPerHour),
      aggregates: new RefusalAggregates(server, intake),
      ranges: new SourceRanges(),
      mediaRanges,
      isAccepting: () => input.isAccepting(),
    }
  }

  /** Call it when no more requests come. Resolves when the remaining counts are in the API log. */
  stop(): Promise<void> {
    return this.#deps.aggregates.stop()
  }

  receive(context: RequestContext): void {
    const { request, repeatedHeaders } = context
    const { 'x-api-key': apiKey } = request.headers
    // With two tokens it is unclear which one is meant.
    const isOneToken = typeof apiKey === 'string' && !isAmong(repeatedHeaders, 'x-api-key')
    const token = isOneToken ? this.#authenticator.findToken(apiKey) : null
    if (token instanceof Promise) this.#handleLater(context, token)
    else if (token) this.#createHandler(context, token, sourceAddress(request, this.#trustedProxies)).start()
    else context.refuse([problem('unauthorized', 'x-api-key')])
  }

  /** Must not return a promise: Fastify would wait for it and then continue with the request. */
  #handleLater(context: RequestContext, token: Promise<Token | null>): void {
    // Read now, because a closed connection no longer knows it.
    const remoteAddress = sourceAddress(context.request, this.#trustedProxies)
    const createHandler = (found: Token) => this.#createHandler(context, found, remoteAddress)
    void new TokenLookUp({ context, token, deadlines: this.#deps.deadlines, createHandler }).start()
  }

  #createHandler(context: RequestContext, token: Token, remoteAddress: string): SendHandler {
    const { request, repeatedHeaders } = context
    const idempotencyKey = isAmong(repeatedHeaders, 'idempotency-key')
      ? null
      : parseIdempotencyKey(request.headers['idempotency-key'])
    return new SendHandler(this.#deps, { context, token, remoteAddress, idempotencyKey })
  }
}
