import { fastify } from 'fastify'
import { successBody } from '../src/contract/replies.ts'
import { keepTicksFast } from '../src/server/runtime-tuning.ts'
import { answerParent } from './child.ts'
import { SEND_PATH } from './send-request.ts'

/**
 * The reference for comparisons: the least that a Fastify route can do. It parses the same JSON body and replies with the same
 * constant bytes. It checks nothing and stores nothing.
 */
const BODY = JSON.stringify(successBody('QUEUED'))

const app = fastify({ logger: false })
app.post(SEND_PATH, (_request, reply) => {
  reply.header('content-type', 'application/json; charset=utf-8').send(BODY)
})

const calls = {
  async listen() {
    // As in the service. Otherwise it loses a fifth of its rate at some time in a long run.
    await keepTicksFast()
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    return Number(new URL(address).port)
  },
}
export type ReferenceCalls = typeof calls

process.once('SIGTERM', () => process.exit(0))
answerParent(calls)
