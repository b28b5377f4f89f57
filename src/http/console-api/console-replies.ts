import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ConsoleProblem } from '../../contract/console/shapes.ts'
import { JoinedRefusal, Refusal, type RefusalCode } from '../../core/refusals.ts'
import { type Problem, problem } from '../server/problem.ts'
import { consoleStatusOf } from '../server/refusal-replies.ts'
import { contextOf, type RequestContext, type RequestOwner } from '../server/request-context.ts'
import type { ServerState } from '../server/server-state.ts'

// The refusals for errors that Fastify itself finds in a request.
const FOUND_BY_FASTIFY: Readonly<Record<string, RefusalCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'content_type_unsupported',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed_request',
  FST_ERR_BAD_URL: 'console_route_unknown',
  FST_ERR_NOT_FOUND: 'console_route_unknown',
}

/** Answers any error that a hook or handler threw. */
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

/** Answers for the listener while Fastify has the request: when it is too slow or aborted. */
export class ConsoleRequestOwner implements RequestOwner {
  readonly #reply: FastifyReply

  constructor(reply: FastifyReply) {
    this.#reply = reply
  }

  refuse(problems: readonly Problem[]): void {
    refuseAll(problems, this.#reply)
  }
}

/** A reply is being written already, so a refusal comes too late. */
const REPLYING: RequestOwner = { refuse() {} }

/** Called before Fastify writes: leaves the reply to it, with the headers that every reply carries. */
export async function handOverToFastify(context: RequestContext, reply: FastifyReply): Promise<void> {
  if (context.isReplied) return
  context.owner = REPLYING
  await context.drain()
  reply.headers(context.handOver())
  const { server, receivedMonotonic } = context
  server.observer.consoleReplied(reply.statusCode, server.clock.monotonic() - receivedMonotonic)
}

interface ConsoleReply {
  readonly status: number
  readonly body: ConsoleProblem
}

/** The reply to a refusal: its code, one sentence, and the fields of the form that are wrong. */
function problemReply(problems: readonly Problem[], requestId: string): ConsoleReply {
  const [first = problem('internal_error')] = problems
  const fields = problems.flatMap(({ field, message }) => (field === null ? [] : [{ field, message }]))
  const { code, message } = fields.length > 1 ? problem('input_invalid') : first
  return { status: consoleStatusOf(code), body: { error: { code, message, fields, requestId } } }
}

function refusalReply(refusal: Refusal, requestId: string): ConsoleReply {
  const parts = refusal instanceof JoinedRefusal ? refusal.parts : [refusal]
  return problemReply(
    parts.map(({ code, field, message }) => ({ code, field, message })),
    requestId,
  )
}

/** The error's own message may name tables, paths or numbers, so it goes only to the log. */
function faultReply(requestId: string): ConsoleReply {
  const message = `Something went wrong on our side. Try again. If it happens again, ask the operator to search the log for ${requestId}.`
  return problemReply([problem('internal_error', null, message)], requestId)
}
