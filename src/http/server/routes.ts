import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify'
import { buildOpenApi } from '../../contract/openapi.ts'
import type { Intake } from '../../core/ports/intake.ts'
import { SEND_PATH, SendEndpoint } from '../api/send-endpoint.ts'
import { addCallbackRoutes } from '../callbacks/callback.ts'
import type { ConsoleSettings } from '../console-api/console-parts.ts'
import { addDocsPages } from '../docs/docs-pages.ts'
import { addHealthPages } from '../health/health-pages.ts'
import { addMetricsPage } from '../health/metrics-page.ts'
import { hijackReply } from './hijack-reply.ts'
import type { HttpServerDeps } from './http-server-deps.ts'
import { problem } from './problem.ts'
import { documentedRefusals } from './refusal-replies.ts'
import { contextOf, JSON_TYPE } from './request-context.ts'
import type { ServerState } from './server-state.ts'
import { sourceAddress } from './source-address.ts'

const API_PREFIX = '/chat/api/'
const NO_INTAKE = 'This process takes no messages: it runs without the role `api`. Send to a process that has it.'

/** The handlers of all paths. */
export function createRoutes(state: ServerState, deps: HttpServerDeps): FastifyInstance {
  const app = fastify({
    logger: false,
    genReqId: (request) => contextOf(request).requestId,
    frameworkErrors: (_error, request, reply) => refuseRoute(request, reply),
  })
  // Every body is read by its own surface, under its own rules.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  app.setNotFoundHandler(refuseRoute)
  app.setErrorHandler((error, request, reply) => {
    // Fastify checks the content type of a request before it finds that there is no route.
    if (request.is404) refuseRoute(request, reply)
    else hijackReply(reply).fail(error)
  })

  if (deps.intake) addPublicApi(app, state, { ...deps, intake: deps.intake })
  addCallbackRoutes(app, state, { callbacks: deps.callbacks ?? [], isAccepting: () => deps.isAccepting() })
  addHealthPages(app, deps)
  addMetricsPage(app, deps.metrics, deps.metrics)
  // For developers and people in the console. A process that only dispatches serves no documents.
  if (deps.intake || deps.console) addDocuments(app, deps)
  if (deps.console) addConsole(app, state, { ...deps, console: deps.console })
  return app
}

/** Loaded only where it is served, because it needs packages of its own. */
function addConsole(
  app: FastifyInstance,
  state: ServerState,
  { console, publicUrl, trustedProxies }: HttpServerDeps & { readonly console: ConsoleSettings },
): void {
  const { clock, log, closing } = state
  void app.register(async (scope) => {
    const { addConsole: add } = await import('../console-api/console-routes.ts')
    await add(scope, state, {
      ...console,
      checksReplies: console.checksReplies ?? false,
      clock,
      log,
      closing,
      publicUrl,
      isSecure: publicUrl.startsWith('https://'),
      addressOf: (request) => sourceAddress(request, trustedProxies),
    })
  })
}

function addPublicApi(app: FastifyInstance, state: ServerState, deps: HttpServerDeps & { readonly intake: Intake }) {
  const endpoint = new SendEndpoint({
    ...deps,
    server: state,
    isAccepting: () => deps.isAccepting(),
    acceptingProcesses: () => deps.acceptingProcesses?.() ?? 1,
  })
  addSendEndpoint(app, endpoint)
  app.addHook('onClose', () => endpoint.stop())
}

/**
 * The hook handles the whole request and never continues. After it Fastify would read the body, and create an async
 * resource and several closures for that, which takes longer than our own reading and validation.
 */
function addSendEndpoint(app: FastifyInstance, endpoint: SendEndpoint): void {
  app.post(SEND_PATH, {
    onRequest: (request) => endpoint.receive(contextOf(request.raw)),
    handler: () => undefined,
  })
}

function refuseRoute(request: FastifyRequest, reply: FastifyReply): void {
  const { method, url = '' } = request.raw
  const isTrace = method === 'TRACE' && !url.startsWith(API_PREFIX)
  const isSend = method === 'POST' && url.replace(/\?.*/, '') === SEND_PATH
  hijackReply(reply).refuse([
    problem(isTrace ? 'method_unsupported' : 'route_not_found', null, isSend ? NO_INTAKE : null),
  ])
}

function addDocuments(app: FastifyInstance, { docsFolder, publicUrl }: HttpServerDeps): void {
  addOpenApiPage(app, publicUrl)
  if (docsFolder !== undefined) addDocsPages(app, { folder: docsFolder, publicUrl })
}

/** The OpenAPI description, for tools and for the form of the documents that tries a call. */
function addOpenApiPage(app: FastifyInstance, publicUrl: string): void {
  const text = JSON.stringify(buildOpenApi(publicUrl, documentedRefusals()))
  const length = String(Buffer.byteLength(text))
  app.get('/openapi.json', (_request, reply) =>
    hijackReply(reply).reply(200, ['content-type', JSON_TYPE, 'content-length', length], text),
  )
}
