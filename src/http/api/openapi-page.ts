import type { FastifyInstance } from 'fastify'
import { buildOpenApi } from '../../contract/openapi.ts'
import { hijackReply } from '../server/hijack-reply.ts'
import { documentedRefusals } from '../server/refusal-replies.ts'
import { JSON_TYPE } from '../server/request-context.ts'

/** The OpenAPI description, for tools and for the reference in the console. */
export function addOpenApiPage(app: FastifyInstance, publicUrl: string): void {
  const text = JSON.stringify(buildOpenApi(publicUrl, documentedRefusals()))
  const length = String(Buffer.byteLength(text))
  app.get('/openapi.json', (_request, reply) =>
    hijackReply(reply).reply(200, ['content-type', JSON_TYPE, 'content-length', length], text),
  )
}
