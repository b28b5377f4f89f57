import type { FastifyReply } from 'fastify'
import { contextOf, type RequestContext } from './request-context.ts'

/** Tells Fastify that the reply is ours. Call it last: what is thrown after it, Fastify no longer answers. */
export function hijackReply(reply: FastifyReply): RequestContext {
  reply.hijack()
  return contextOf(reply.request.raw)
}
