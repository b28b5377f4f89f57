import { fastifyCookie } from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ConsoleRoute, maxBodyBytes, RAW } from '../../contract/console/route.ts'
import { CONSOLE_ROUTES, type ConsoleRouteName } from '../../contract/console/routes.ts'
import { Refusal } from '../../core/refusals.ts'
import { contextOf, isJsonType } from '../server/request-context.ts'
import type { ServerState } from '../server/server-state.ts'
import { type AnyRequestContext, authorize } from './authorize.ts'
import { type AnyHandler, createHandlers } from './console-handlers.ts'
import { CONSOLE_API, type ConsoleParts } from './console-parts.ts'
import {
  ConsoleRequestOwner,
  handOverToFastify,
  refuseAll,
  refuseUnknownRoute,
  replyToThrown,
} from './console-replies.ts'
import { setSecurityHeaders } from './headers.ts'
import { showTo } from './mask.ts'
import { readInput } from './read-input.ts'
import { addConsolePages } from './static-files.ts'

const WITHOUT_BODY = new Set(['GET', 'HEAD'])

/** Everything under `/console`, with its own bodies, replies and headers, separate from the other surfaces. */
export async function addConsole(app: FastifyInstance, state: ServerState, parts: ConsoleParts): Promise<void> {
  await app.register(fastifyCookie)
  app.addHook('onRequest', async (request, reply) => {
    setSecurityHeaders(reply, parts)
    contextOf(request.raw).owner = new ConsoleRequestOwner(reply)
  })
  app.addHook('onSend', (request, reply) => handOverToFastify(contextOf(request.raw), reply))
  app.setErrorHandler((error, _request, reply) => replyToThrown(error, reply, state))
  await app.register(async (scope) => addApi(scope, parts), { prefix: CONSOLE_API })
  await addConsolePages(app, parts)
}

function addApi(app: FastifyInstance, parts: ConsoleParts): void {
  app.removeAllContentTypeParsers()
  // Each route sets its own limit. This one is for requests to unknown routes.
  const bodyLimit = maxBodyBytes('public')
  app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler(refuseUnknownRoute)
  const handlers = createHandlers(parts)
  for (const [name, route] of Object.entries(CONSOLE_ROUTES)) addRoute(app, route, handlers[name as ConsoleRouteName])

  function addRoute(scope: FastifyInstance, route: ConsoleRoute, handle: AnyHandler): void {
    const contexts = new WeakMap<FastifyRequest, AnyRequestContext>()
    scope.route({
      method: route.method,
      url: route.path,
      bodyLimit: maxBodyBytes(route.access),
      onRequest: async (request, reply) => {
        contexts.set(request, await authorize(route, { request, reply }, parts))
        expectJson(request)
        // A caller that waits for `100 Continue` gets it only after authorization.
        contextOf(request.raw).requestBody()
      },
      handler: (request, reply) =>
        answer({ route, handle, checksReplies: parts.checksReplies }, contexts.get(request), reply),
    })
  }
}

interface Answering {
  readonly route: ConsoleRoute
  readonly handle: AnyHandler
  readonly checksReplies: boolean
}

async function answer(
  { route, handle, checksReplies }: Answering,
  context: AnyRequestContext | undefined,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (!context) throw new Error('A request reached its handler without being authorized')
  const reading = readInput(route, reply.request)
  if (!reading.ok) refuseAll(reading.problems, reply)
  else {
    const result = await handle(reading.input, context)
    if (route.reply !== RAW) {
      if (checksReplies) route.reply.parse(result)
      const shown = 'role' in context ? showTo(context.role, route.reply, result) : result
      reply.type('application/json; charset=utf-8').send(shown)
    }
  }
  return reply
}

/** Pages of other sites can send forms and a few text types without a CORS preflight, but not JSON. */
function expectJson({ method, raw: { headers } }: FastifyRequest): void {
  if (WITHOUT_BODY.has(method)) return
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  if (hasBody && !isJsonType(headers['content-type'])) throw new Refusal('content_type_unsupported')
}
