import type { AddressRange } from '../../core/media-address/ip-address.ts'
import type { Intake } from '../../core/ports/intake.ts'
import type { Exchange } from '../exchange.ts'
import { OverdueWatch } from '../overdue-watch.ts'
import { problem } from '../problem.ts'
import { isAmong } from '../repeated-headers.ts'
import type { ServerState } from '../server-state.ts'
import { sourceAddress } from '../source-address.ts'
import { AcceptRate } from './accept-rate.ts'
import { Authenticator } from './authenticator.ts'
import { parseIdempotencyKey } from './judge-headers.ts'
import { SourceRanges } from './source-ranges.ts'
import { Submission, type SubmissionDesk } from './submission.ts'

export const SEND_PATH = '/chat/api/v1/public/message/send'

export interface SendEndpointInput {
  readonly server: ServerState
  readonly intake: Intake
  readonly allowedPrivate: readonly AddressRange[]
  readonly trustedProxies: readonly AddressRange[]
  /** Messages per second; 0 means no limit. */
  readonly acceptRatePerAccount: number
  isAccepting(): boolean
}

/** The one public endpoint. Here is only who sends; everything after that is in `submission.ts`. */
export class SendEndpoint {
  readonly #authenticator: Authenticator
  readonly #trustedProxies: readonly AddressRange[]
  readonly #desk: SubmissionDesk

  constructor(input: SendEndpointInput) {
    const { server, intake, allowedPrivate } = input
    this.#authenticator = new Authenticator(intake)
    this.#trustedProxies = input.trustedProxies
    this.#desk = {
      intake,
      watch: new OverdueWatch(server.clock, server.limits.storageWaitMs),
      rate: new AcceptRate(server.clock, input.acceptRatePerAccount),
      ranges: new SourceRanges(),
      allowedPrivate,
      isAccepting: () => input.isAccepting(),
    }
  }

  receive(exchange: Exchange): void {
    const { request, repeatedHeaders } = exchange
    const { 'x-api-key': apiKey, 'idempotency-key': idempotencyKey } = request.headers
    // Of two tokens, nobody can say which one was meant to answer for the message.
    const isOneToken = typeof apiKey === 'string' && !isAmong(repeatedHeaders, 'x-api-key')
    const token = isOneToken ? this.#authenticator.findToken(apiKey) : null
    if (!token) {
      exchange.refuse([problem('unauthorized', 'x-api-key')])
      return
    }
    new Submission(this.#desk, {
      exchange,
      token,
      remoteAddress: sourceAddress(request, this.#trustedProxies),
      idempotencyKey: isAmong(repeatedHeaders, 'idempotency-key') ? null : parseIdempotencyKey(idempotencyKey),
    }).start()
  }
}
