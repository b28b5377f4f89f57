import type { FastifyReply } from 'fastify'
import { contextOf, type RequestContext } from './request-context.ts'

/** Takes the reply over from Fastify. Call it last: Fastify no longer answers errors that are thrown after it. */
export function hijackReply(reply: FastifyReply): RequestContext {
  reply.hijack()
  return contextOf(reply.request.raw)
}
