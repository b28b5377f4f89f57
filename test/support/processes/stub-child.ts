import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { localUrl, type Settings } from '../../../src/config/read-settings.ts'
import { Refusal } from '../../../src/core/refusals.ts'
import { createHttpServer, type HttpServer } from '../../../src/http/server/http-server.ts'
import { type ChildParts, serveAsChild } from '../../../src/server/cluster/serve-as-child.ts'
import { systemClock } from '../../../src/server/system-clock.ts'

/** The limit for each process. */
const MAX_CONNECTIONS = 4

/** A service without storage: the real server, whose /metrics shows which process answered, and which others it knows. */
class StubService {
  readonly #settings: Settings
  readonly #logger: Logger
  readonly #http: HttpServer

  constructor({ settings, logger, readOtherMetrics }: ChildParts) {
    this.#settings = settings
    this.#logger = logger
    this.#http = createHttpServer({
      intake: null,
      clock: systemClock,
      log: logger,
      observer: {
        replied: () => {},
        refusalNotLogged: () => {},
        consoleReplied: () => {},
        callbackReplied: () => {},
        connectionDropped: () => {},
      },
      publicUrl: settings.publicUrl,
      mediaRanges: { allowed: [], refused: [] },
      trustedProxies: [],
      acceptRatePerAccount: 0,
      refusedLogBytesPerHour: 0,
      limits: { maxConnections: MAX_CONNECTIONS },
      metrics: {
        contentType: 'text/plain',
        text: async () => [[{ pid: process.pid }], ...(await readOtherMetrics())].map(pidOf).join(' '),
        allowed: [],
        bearerSecret: null,
      },
      isAccepting: () => true,
      readinessProblems: async () => [],
    })
  }

  async start(): Promise<{ url: string }> {
    this.#logger.info({ pid: process.pid }, 'stub.starts')
    if (this.#mode === 'refuse') throw new Refusal('database_unavailable', 'The stub refuses to start.')
    if (this.#mode === 'fault') throw new Error('the stub is broken')
    if (this.#mode === 'exit') process.exit(7)
    const { host, port } = this.#settings
    const address = await this.#http.listen({ host, port })
    return { url: localUrl({ host, tlsCertFile: null }, address.port) }
  }

  async reportMetrics(): Promise<object[]> {
    return [{ pid: process.pid }]
  }

  async stop(): Promise<void> {
    await this.#http.close()
    this.#logger.info({ pid: process.pid }, 'stub.closed')
    if (this.#mode === 'hang') await new Promise(() => setInterval(() => {}, 60_000))
    this.#logger.info({ pid: process.pid }, 'stub.stopped')
  }

  /** The test sets the mode in a file, at any time. */
  get #mode(): string {
    return readFileSync(join(this.#settings.dataDir, 'mode'), 'utf8')
  }
}

function pidOf([report]: readonly object[]): string {
  return String(report && 'pid' in report ? report.pid : 'none')
}

serveAsChild((parts) => new StubService(parts))
