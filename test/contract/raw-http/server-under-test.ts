import { createHttpServer, type HttpServer } from '../../../src/http/server/http-server.ts'
import type { HttpServerDeps } from '../../../src/http/server/http-server-deps.ts'
import { makeCertificate } from '../../support/media-world/certificates.ts'
import { RawConnection, type RawReply } from './raw-connection.ts'
import { realClock } from './real-clock.ts'
import { FROM, StubIntake } from './stub-intake.ts'

export const PATH = '/chat/api/v1/public/message/send'
export const GOOD_BODY = JSON.stringify({
  from: FROM,
  to: '14155550123',
  message: { type: 'message', message: 'Hello' },
})

const CERTIFICATE = makeCertificate({ names: ['send.example.com'], addresses: ['127.0.0.1'] })

/** Header name → value; a list sends the header several times, null leaves a default header out. */
export type HeaderLines = Readonly<Record<string, string | readonly string[] | null>>

export interface RequestFacts {
  readonly method?: string
  readonly target?: string
  readonly version?: string
  readonly headers?: HeaderLines
  readonly body?: string | Buffer
}

/** The real server with a stub intake, and its counts and logs. */
export class ServerUnderTest {
  readonly intake = new StubIntake()
  readonly token = this.intake.addToken()
  readonly counted: string[] = []
  readonly faults: unknown[] = []
  notLogged = 0
  dropped = 0
  isAccepting = true
  problems: readonly string[] = []
  port = 0
  readonly server: HttpServer
  readonly #open: RawConnection[] = []
  readonly #isTls: boolean

  constructor(overrides: Partial<HttpServerDeps> = {}) {
    this.#isTls = Boolean(overrides.tls)
    this.server = createHttpServer({
      intake: this.intake,
      clock: realClock,
      log: { error: ({ err }) => this.faults.push(err) },
      observer: {
        replied: (status, outcome) => this.counted.push(`${status} ${outcome}`),
        consoleReplied: (status) => this.counted.push(`${status} console`),
        callbackReplied: (status) => this.counted.push(`${status} callback`),
        refusalNotLogged: (count) => {
          this.notLogged += count
        },
        connectionDropped: () => {
          this.dropped += 1
        },
      },
      publicUrl: 'https://send.example.com',
      mediaRanges: { allowed: [], refused: [] },
      trustedProxies: [],
      acceptRatePerAccount: 0,
      refusedLogBytesPerHour: 0,
      metrics: { contentType: 'text/plain', text: async () => 'up 1\n', allowed: [], bearerSecret: null },
      isAccepting: () => this.isAccepting,
      readinessProblems: async () => this.problems,
      ...overrides,
      limits: { lingerMs: 50, ...overrides.limits },
    })
  }

  async start(): Promise<this> {
    this.port = (await this.server.listen({ host: '127.0.0.1', port: 0 })).port
    return this
  }

  async stop(): Promise<void> {
    for (const connection of this.#open) connection.close()
    await this.server.close()
  }

  async connect(from?: string): Promise<RawConnection> {
    const { port } = this
    const connection = await (this.#isTls ? RawConnection.openTls(port, from) : RawConnection.open(port, from))
    this.#open.push(connection)
    return connection
  }

  stopAccepting(): this {
    this.isAccepting = false
    return this
  }

  /** Marks the lane of a number, or a whole account, as full. */
  fill(numberOrAccount: string): this {
    this.intake.full.add(numberOrAccount)
    return this
  }

  /** Sends a valid request with the given changes. */
  async ask(facts: RequestFacts = {}): Promise<RawReply | null> {
    const connection = await this.connect()
    connection.send(this.write(facts))
    return connection.nextReply()
  }

  /** The bytes of a valid request with the given changes. */
  write({
    method = 'POST',
    target = PATH,
    version = 'HTTP/1.1',
    headers = {},
    body = GOOD_BODY,
  }: RequestFacts = {}): Buffer {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const all: HeaderLines = {
      Host: 'send.example.com',
      'x-api-key': this.token,
      'Content-Type': 'application/json',
      'Content-Length': String(bytes.length),
      ...headers,
    }
    const lines = Object.entries(all).flatMap(([name, value]) =>
      value === null ? [] : [value].flat().map((each) => `${name}: ${each}`),
    )
    const head = [`${method} ${target} ${version}`, ...lines, '', ''].join('\r\n')
    return Buffer.concat([Buffer.from(head, 'latin1'), bytes])
  }
}

/** Starts a server, runs the test with it, and always stops it. */
export async function withServer(
  overrides: Partial<HttpServerDeps>,
  test: (server: ServerUnderTest) => Promise<void>,
): Promise<void> {
  const server = await new ServerUnderTest(overrides).start()
  try {
    await test(server)
  } finally {
    await server.stop()
  }
}

/** Plain HTTP and TLS: the guarantees for connections hold on both. */
export const TRANSPORTS = [
  { transport: 'plain HTTP', withServer },
  {
    transport: 'TLS',
    withServer: ((overrides, test) => withServer({ ...overrides, tls: CERTIFICATE }, test)) as typeof withServer,
  },
] as const
