import type { FastifyReply, FastifyRequest } from 'fastify'
import { Refusal, type RefusalCode } from '../../core/refusals.ts'
import { type Problem, problem } from '../server/problem.ts'
import { contextOf, type RequestContext, type RequestOwner } from '../server/request-context.ts'
import type { ServerState } from '../server/server-state.ts'
import { type ConsoleReply, faultReply, problemReply, refusalReply } from './problems.ts'

// What Fastify itself finds wrong with a request, in our words.
const FOUND_BY_FASTIFY: Readonly<Record<string, RefusalCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type_unsupported',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'console_route_unknown',
  FST_ERR_NOT_FOUND: 'console_route_unknown',
}

/** Answers whatever was thrown on the way. */
export function replyToThrown(thrown: unknown, reply: FastifyReply, { log }: Pick<ServerState, 'log'>): void {
  const { requestId } = contextOf(reply.request.raw)
  const refusal = toRefusal(thrown, reply.request)
  if (!refusal) log.error({ requestId, err: thrown }, 'A request of the console met a fault')
  send(reply, refusal ? refusalReply(refusal, requestId) : faultReply(requestId))
}

function toRefusal(thrown: unknown, { is404, routeOptions }: FastifyRequest): Refusal | null {
  if (thrown instanceof Refusal) return thrown
  const { code } = thrown as { readonly code?: string }
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    if (is404) return new Refusal('console_route_unknown')
    const { bodyLimit = 0 } = routeOptions
    return new Refusal('body_too_large', `The body is larger than ${bodyLimit / 1024} KiB.`)
  }
  const known = FOUND_BY_FASTIFY[code ?? '']
  return known ? new Refusal(known) : null
}

export function refuseAll(problems: readonly Problem[], reply: FastifyReply): void {
  send(reply, problemReply(problems, contextOf(reply.request.raw).requestId))
}

export function refuseUnknownRoute(_request: FastifyRequest, reply: FastifyReply): void {
  refuseAll([problem('console_route_unknown')], reply)
}

function send(reply: FastifyReply, { status, body }: ConsoleReply): void {
  const context = contextOf(reply.request.raw)
  if (reply.sent || context.isReplied || context.owner === REPLYING) return
  reply.code(status).type('application/json; charset=utf-8').removeHeader('content-encoding').send(body)
}

/** Writes for the front door while Fastify has the request: what is late, and what breaks off in the middle. */
export class ConsoleRequestOwner implements RequestOwner {
  readonly #reply: FastifyReply

  constructor(reply: FastifyReply) {
    this.#reply = reply
  }

  refuse(problems: readonly Problem[]): void {
    refuseAll(problems, this.#reply)
  }
}

/** A reply is on its way already: whoever breaks off now is too late. */
const REPLYING: RequestOwner = { refuse() {} }

/** Before Fastify writes: takes the exchange's place, and puts on the reply what every reply carries. */
export async function handOverToFastify(context: RequestContext, reply: FastifyReply): Promise<void> {
  if (context.isReplied) return
  context.owner = REPLYING
  await context.drain()
  reply.headers(context.handOver())
  const { server, receivedMonotonic } = context
  server.observer.consoleReplied(reply.statusCode, server.clock.monotonic() - receivedMonotonic)
}
