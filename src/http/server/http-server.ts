import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../core/ports/clock.ts'
import { refusalOfListening } from '../../core/system-errors.ts'
import { ConnectionTracker } from './connection-tracker.ts'
import { DEFAULT_HTTP_LIMITS } from './http-limits.ts'
import type { HttpServerDeps } from './http-server-deps.ts'
import { createListener } from './listener.ts'
import { publicPathOf } from './public-path.ts'
import { createRoutes } from './routes.ts'
import type { ServerState } from './server-state.ts'
import { LEAST_TLS, type TlsIdentity } from './tls-identity.ts'

interface ListenAt {
  readonly host: string
  readonly port: number
}

/** Creates the server of all surfaces: the public endpoint, health, metrics, and the description of the API. */
export function createHttpServer(deps: HttpServerDeps): HttpServer {
  return new HttpServer(deps)
}

export class HttpServer {
  readonly #state: ServerState
  readonly #routes: FastifyInstance
  readonly #listener: Server | TlsServer
  readonly #sockets: ConnectionTracker
  readonly #closing = new AbortController()
  #closed: Promise<void> | null = null

  constructor(deps: HttpServerDeps) {
    this.#state = {
      clock: deps.clock,
      log: deps.log,
      observer: deps.observer,
      limits: { ...DEFAULT_HTTP_LIMITS, ...deps.limits },
      nextRequestId: createRequestIds(deps.clock),
      isClosing: false,
      closing: this.#closing.signal,
    }
    const routes = createRoutes(this.#state, deps)
    this.#routes = routes
    const publicPath = publicPathOf(deps.publicUrl)
    const options = { trustedProxies: deps.trustedProxies, tls: deps.tls ?? null, publicPath }
    this.#listener = createListener(this.#state, options, ({ request, response }) => routes.routing(request, response))
    this.#sockets = new ConnectionTracker(this.#listener, this.#state.limits)
  }

  /** Resolves with the address once connections are accepted. Port 0 chooses any free port. */
  async listen(at: ListenAt): Promise<AddressInfo> {
    await this.#routes.ready()
    await new Promise<void>((resolve, reject) => {
      this.#listener.once('error', (error) => reject(refusalOfListening(error, at) ?? error))
      this.#listener.listen(at, resolve)
    })
    return this.#listener.address() as AddressInfo
  }

  /** Applies to new connections; open ones keep the old certificate. Throws when it cannot be used. */
  renewTls({ cert, key }: TlsIdentity): void {
    if (!('setSecureContext' in this.#listener)) throw new Error('This server speaks plain HTTP')
    this.#listener.setSecureContext({ cert, key, minVersion: LEAST_TLS })
  }

  /**
   * Accepts no more connections, lets open requests end, and ends connections that take too long. Calling it twice, or
   * before `listen`, is harmless.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#state.isClosing = true
    this.#closing.abort()
    const { clock, limits } = this.#state
    const stopWaiting = clock.after(limits.closeGraceMs, () => this.#listener.closeAllConnections())
    if (this.#listener.listening) {
      const closed = new Promise((resolve) => this.#listener.close(resolve))
      this.#sockets.endIdle()
      await closed
    }
    stopWaiting()
    await this.#routes.close()
  }
}

/**
 * Makes request ids: short, cheap, and in practice unique within the installation. A random start per process and a
 * counter, because a random id for each request would cost more than all its other bookkeeping.
 */
function createRequestIds(clock: Clock): () => string {
  const start = Math.floor(clock.random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
  let count = 0
  return () => {
    count += 1
    return `${start}-${count.toString(36)}`
  }
}
