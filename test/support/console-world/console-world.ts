import { hash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { KNOWN_CHANNELS } from '../../../src/channels/registry.ts'
import { createConnectionService } from '../../../src/connections/connection-service.ts'
import type { CallOf, ConsoleRoute, ReplyOf, Role } from '../../../src/contract/console/route.ts'
import { CONSOLE_ROUTES, type ConsoleRouteName, type ConsoleRoutes } from '../../../src/contract/console/routes.ts'
import type { ConsoleProblem } from '../../../src/contract/console/shapes.ts'
import type { AccountId } from '../../../src/core/ids.ts'
import type { Changes } from '../../../src/core/ports/console/changes.ts'
import type { ConsoleStore } from '../../../src/core/ports/console/console-store.ts'
import type { ConsoleSettings } from '../../../src/http/console-api/console-parts.ts'
import { createHttpServer, type HttpServer } from '../../../src/http/server/http-server.ts'
import type { HttpServerDeps } from '../../../src/http/server/http-server-deps.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { createConsoleStore } from '../../../src/storage/queries/console-store.ts'
import { AdministrationWorld } from '../administration-world/open-administration-world.ts'
import type { EngineName } from '../administration-world/world-database.ts'
import { testSecrets } from '../secrets.ts'

export interface OpenOptions {
  readonly console?: Partial<ConsoleSettings>
  readonly http?: Partial<HttpServerDeps>
  readonly changes?: Changes
}

/** A person with a session, and the cookie that their browser would send. */
export interface Visitor {
  readonly personId: string
  readonly sessionId: string
  readonly email: string
  readonly cookie: string
}

export interface Asked {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly as?: Visitor | null
  /** Added to the headers that a browser sends from our pages. Undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface Answer<Body = unknown> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Body
}

/** The private API of the console over the database of one test, called as a browser does. */
export class ConsoleWorld extends AdministrationWorld {
  /** The errors that the server logged; empty in most tests. */
  readonly faults: unknown[] = []
  readonly counted: string[] = []
  url = ''
  #server: HttpServer | null = null
  #console: ConsoleStore | null = null
  #persons = 0

  /** Returns what closes all of it. Return it from `beforeEach`, so that it runs after the test. */
  async openConsole(engine: EngineName, options: OpenOptions = {}): Promise<() => Promise<void>> {
    const close = await this.open(engine)
    const { store } = createConsoleStore(this.store, {
      poll: async () => '',
      onError: (error) => this.faults.push(error),
    })
    this.#console = options.changes ? { ...store, changes: options.changes } : store
    this.#server = createHttpServer(this.#depsOf(this.#console, options))
    const { port } = await this.#server.listen({ host: '127.0.0.1', port: 0 })
    this.url = `http://127.0.0.1:${port}`
    return async () => {
      await this.#server?.close()
      await close()
    }
  }

  get console(): ConsoleStore {
    if (!this.#console) throw new Error('The console has not been opened')
    return this.#console
  }

  /** Stops the server before the test ends. */
  async stopServer(): Promise<void> {
    await this.#server?.close()
  }

  async visitor(accountId: AccountId, role: Role = 'owner'): Promise<Visitor> {
    const email = `person-${++this.#persons}@example.com`
    const person = { email, name: `Person ${this.#persons}`, passwordHash: 'none' }
    const { id } = await this.console.people.addPerson(person, { accountId, role }, 'test')
    return this.signIn({ personId: id, email })
  }

  async signIn({ personId, email }: Pick<Visitor, 'personId' | 'email'>): Promise<Visitor> {
    const value = randomBytes(32).toString('base64url')
    const sessionId = await this.console.sessions.begin({
      personId,
      sha256: hash('sha256', value, 'buffer'),
      proof: 'password',
      isKept: false,
      remoteAddress: null,
      userAgent: null,
    })
    return { personId, sessionId, email, cookie: `sid-8080=${value}` }
  }

  /** Calls a route. Fails if the reply does not have the shape that the contract promises. */
  async call<Name extends ConsoleRouteName>(
    name: Name,
    input: Partial<CallOf<ConsoleRoutes[Name]>> & Pick<Asked, 'as' | 'headers'>,
  ): Promise<ReplyOf<ConsoleRoutes[Name]>> {
    const { status, text, body } = await this.ask(name, input as Asked)
    if (status !== 200) throw new Error(`${name} was answered with ${status} ${text}`)
    return body as ReplyOf<ConsoleRoutes[Name]>
  }

  /** Returns status and code of a refusal: `404 token_unknown`. */
  async refusal(name: ConsoleRouteName, asked: Asked): Promise<string> {
    const { status, body } = await this.ask(name, asked)
    return `${status} ${(body as ConsoleProblem | null)?.error?.code}`
  }

  async ask(name: ConsoleRouteName, asked: Asked = {}): Promise<Answer> {
    const route: ConsoleRoute = CONSOLE_ROUTES[name]
    const response = await this.fetch(name, asked)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
    const body: unknown = isJson ? JSON.parse(text) : null
    if (response.status === 200 && isJson) route.reply.parse(body)
    return { status: response.status, headers: response.headers, text, body }
  }

  /** For streams and files: returns the response unread. */
  fetch(name: ConsoleRouteName, asked: Asked): Promise<Response> {
    const { url, ...init } = this.#requestOf(name, asked)
    return fetch(url, { redirect: 'manual', ...init })
  }

  /** Returns status and code of a refusal. The request is admitted, then `meanwhile` runs, then the body is sent. */
  async refusalInHalves(name: ConsoleRouteName, asked: Asked, meanwhile: () => Promise<unknown>): Promise<string> {
    const { url, method, headers, body = '' } = this.#requestOf(name, asked)
    const length = Buffer.byteLength(body)
    const sent = request(url, { method, headers: { ...headers, 'content-length': length, expect: '100-continue' } })
    sent.flushHeaders()
    const answered = once(sent, 'response') as Promise<[IncomingMessage]>
    await Promise.race([once(sent, 'continue'), answered])
    await meanwhile()
    sent.end(body)
    const [response] = await answered
    const parts = await response.toArray()
    return `${response.statusCode} ${(JSON.parse(Buffer.concat(parts).toString()) as ConsoleProblem).error?.code}`
  }

  #requestOf(name: ConsoleRouteName, { params = {}, query = {}, body, as = null, headers = {} }: Asked) {
    const { path: pattern, method }: ConsoleRoute = CONSOLE_ROUTES[name]
    const path = pattern.replaceAll(/:(\w+)/g, (_, key: string) => encodeURIComponent(params[key] ?? 'unknown'))
    const search = new URLSearchParams(query).toString()
    const all: Record<string, string | undefined> = {
      'sec-fetch-site': 'same-origin',
      ...(as ? { cookie: as.cookie } : {}),
      ...(method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...headers,
    }
    const given = Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined)
    return {
      url: `${this.url}/console/api${path}${search ? `?${search}` : ''}`,
      method,
      headers: Object.fromEntries(given),
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    }
  }

  #depsOf(store: ConsoleStore, { console, http }: OpenOptions): HttpServerDeps {
    return {
      intake: null,
      console: {
        store,
        findStorageError: () => null,
        randomBytes,
        secrets: testSecrets(),
        channels: KNOWN_CHANNELS,
        connectionService: createConnectionService({
          onboardings: new Map(),
          openSecrets: async () => testSecrets(),
          publicUrl: 'http://127.0.0.1:8080',
        }),
        deleteSetupLink: async () => undefined,
        sandbox: { commands: [], openCopy: async () => null, markRead: async () => {}, removeCopy: async () => {} },
        version: '0.0.0',
        mayUsePlainHttp: false,
        webhookRanges: { allowed: [], refused: [] },
        keeps: { bodiesDays: 30, messagesDays: 90, auditDays: 400 },
        pagesFolder: '/nowhere',
        checksReplies: true,
        ...console,
      },
      clock: { ...systemClock, now: () => this.now },
      log: { error: ({ err }) => this.faults.push(err) },
      observer: {
        replied: (status, outcome) => this.counted.push(`${status} ${outcome}`),
        consoleReplied: (status) => this.counted.push(`${status} console`),
        callbackReplied: (status) => this.counted.push(`${status} callback`),
        refusalNotLogged: () => {},
        connectionDropped: () => {},
      },
      publicUrl: 'http://127.0.0.1:8080',
      mediaRanges: { allowed: [], refused: [] },
      trustedProxies: [],
      acceptRatePerAccount: 0,
      refusedLogBytesPerHour: 0,
      metrics: { contentType: 'text/plain', text: async () => '', allowed: [], bearerSecret: null },
      isAccepting: () => true,
      readinessProblems: async () => [],
      ...http,
      limits: { lingerMs: 50, ...http?.limits },
    }
  }
}
