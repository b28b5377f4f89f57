import type { FastifyReply } from 'fastify'
import { type Exchange, exchangeOf } from './request-context.ts'

/** Tells Fastify that the reply is ours. Call it last: what is thrown after it, Fastify no longer answers. */
export function takeOver(reply: FastifyReply): Exchange {
  reply.hijack()
  return exchangeOf(reply.request.raw)
}
