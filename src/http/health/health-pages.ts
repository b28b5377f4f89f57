import type { FastifyInstance } from 'fastify'
import { type Exchange, JSON_TYPE } from '../server/request-context.ts'
import { takeOver } from '../server/hijack-reply.ts'

interface HealthProbes {
  /** False while shutting down. */
  isAccepting(): boolean
  /** Names of what does not work at the moment, such as `storage`. Empty: all is well. */
  findTroubles(): Promise<readonly string[]>
}

/**
 * `/health/live`: the process runs and answers. `/health/ready`: it can also take messages, so that a load balancer
 * may send it some. Both tell no more than that, because anybody may ask.
 */
export function addHealthPages(app: FastifyInstance, probes: HealthProbes): void {
  app.get('/health/live', (_request, reply) => replyJson(takeOver(reply), 200, { status: 'live' }))

  app.get('/health/ready', async (_request, reply) => {
    const troubles = probes.isAccepting() ? await probes.findTroubles() : ['shutting_down']
    if (troubles.length === 0) replyJson(takeOver(reply), 200, { status: 'ready' })
    else replyJson(takeOver(reply), 503, { status: 'not_ready', troubles })
  })
}

function replyJson(exchange: Exchange, status: number, body: object): void {
  const text = JSON.stringify(body)
  exchange.reply(status, ['content-type', JSON_TYPE, 'content-length', String(Buffer.byteLength(text))], text)
}
