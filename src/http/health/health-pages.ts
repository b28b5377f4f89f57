import type { FastifyInstance } from 'fastify'
import { hijackReply } from '../server/hijack-reply.ts'
import { JSON_TYPE, type RequestContext } from '../server/request-context.ts'

interface HealthProbes {
  /** False while shutting down. */
  isAccepting(): boolean
  /** Names of the parts that do not work, such as `storage`. Empty: ready. */
  readinessProblems(): Promise<readonly string[]>
}

/**
 * `/health/live`: the process runs and answers. `/health/ready`: it can also accept messages, so a load balancer may send
 * it some. Both say no more than that, because they are public.
 */
export function addHealthPages(app: FastifyInstance, probes: HealthProbes): void {
  app.get('/health/live', (_request, reply) => replyJson(hijackReply(reply), 200, { status: 'live' }))

  app.get('/health/ready', async (_request, reply) => {
    const problems = probes.isAccepting() ? await probes.readinessProblems() : ['shutting_down']
    if (problems.length === 0) replyJson(hijackReply(reply), 200, { status: 'ready' })
    else replyJson(hijackReply(reply), 503, { status: 'not_ready', problems })
  })
}

function replyJson(context: RequestContext, status: number, body: object): void {
  const text = JSON.stringify(body)
  context.reply(status, ['content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text))], text)
}
