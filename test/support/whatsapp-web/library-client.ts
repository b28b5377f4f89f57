import type { BinaryNode } from './binary-node.ts'
import type { ConnectionUpdate, Credentials, KeyStore, Socket, WhatsAppLibrary } from './library.ts'
import type { Simulator } from './simulator.ts'

const SILENT = { level: 'silent', child: () => SILENT, trace() {}, debug() {}, info() {}, warn() {}, error() {} }

interface Ended {
  readonly code: number | undefined
  readonly message: string | undefined
}

/** What a client keeps over restarts. It is kept as text, so a copy is what a crash would leave. */
export class ClientState {
  readonly rows: Map<string, string>
  /** Each write of keys waits until this is fulfilled; null: it does not wait. */
  heldUntil: Promise<void> | null = null
  readonly #library: WhatsAppLibrary

  constructor(library: WhatsAppLibrary, rows: ReadonlyMap<string, string> = new Map()) {
    this.#library = library
    this.rows = new Map(rows)
  }

  copy(): ClientState {
    return new ClientState(this.#library, this.rows)
  }

  /** The ids of all stored keys of a kind. */
  idsOf(kind: string): readonly string[] {
    return [...this.rows.keys()].filter((row) => row.startsWith(`${kind}/`))
  }

  readCredentials(): Credentials {
    const text = this.rows.get('creds')
    if (text === undefined) return this.#library.initAuthCreds()
    return JSON.parse(text, this.#library.BufferJSON.reviver) as Credentials
  }

  writeCredentials(creds: Credentials): void {
    this.rows.set('creds', JSON.stringify(creds, this.#library.BufferJSON.replacer))
  }

  get keys(): KeyStore {
    return {
      get: async (kind, ids) => {
        const found = ids.flatMap((id) => {
          const text = this.rows.get(`${kind}/${id}`)
          return text === undefined ? [] : [[id, JSON.parse(text, this.#library.BufferJSON.reviver)]]
        })
        return Object.fromEntries(found)
      },
      set: async (changes) => {
        if (this.heldUntil) await this.heldUntil
        for (const [kind, values] of Object.entries(changes))
          for (const [id, value] of Object.entries(values))
            if (value === null || value === undefined) this.rows.delete(`${kind}/${id}`)
            else this.rows.set(`${kind}/${id}`, JSON.stringify(value, this.#library.BufferJSON.replacer))
      },
    }
  }
}

/** The URL of a simulator, and the library that trusts it. */
type SimulatorAddress = Pick<Simulator, 'library' | 'url'>

/** The library, connected to the simulator, with the options that the channel gives it. */
export class LibraryClient {
  readonly socket: Socket
  readonly state: ClientState
  readonly creds: Credentials
  readonly updates: ConnectionUpdate[] = []
  readonly receipts: BinaryNode[] = []
  readonly acks: BinaryNode[] = []
  readonly opened: Promise<void>
  /** Resolves once everything that waited at the server has been received. */
  readonly ready: Promise<void>
  readonly ended: Promise<Ended>
  readonly #codes: string[] = []
  readonly #codeRequests: ((code: string) => void)[] = []

  constructor(simulator: SimulatorAddress, state = new ClientState(simulator.library), options: object = {}) {
    this.state = state
    this.creds = state.readCredentials()
    this.socket = simulator.library.makeWASocket({
      auth: { creds: this.creds, keys: state.keys },
      logger: SILENT,
      waWebSocketUrl: simulator.url,
      browser: ['Windows', 'Chrome', '10.0.22631'],
      markOnlineOnConnect: false,
      syncFullHistory: false,
      shouldSyncHistoryMessage: () => false,
      emitOwnEvents: false,
      generateHighQualityLinkPreview: false,
      connectTimeoutMs: 20_000,
      defaultQueryTimeoutMs: 15_000,
      keepAliveIntervalMs: 20_000,
      enableRecentMessageCache: false,
      getMessage: async () => undefined,
      transactionOpts: { maxCommitRetries: 1, delayBetweenTriesMs: 10 },
      ...options,
    })
    const { promise: opened, resolve: onOpen } = Promise.withResolvers<void>()
    const { promise: ready, resolve: onReady } = Promise.withResolvers<void>()
    const { promise: ended, resolve: onEnd } = Promise.withResolvers<Ended>()
    this.opened = opened
    this.ready = ready
    this.ended = ended
    this.socket.ev.on('creds.update', () => state.writeCredentials(this.creds))
    this.socket.ev.on('connection.update', (update) => {
      this.updates.push(update)
      if (update.qr) this.#offerCode(update.qr)
      if (update.connection === 'open') onOpen()
      if (update.receivedPendingNotifications) onReady()
      const error = update.lastDisconnect?.error
      if (update.connection === 'close') onEnd({ code: error?.output?.statusCode, message: error?.message })
    })
    this.socket.ws.on('CB:ack,class:message', (node) => this.acks.push(node))
    this.socket.ws.on('CB:receipt', (node) => this.receipts.push(node))
  }

  /** Links a device to a number, and logs in. */
  static async link(simulator: Simulator, number: string, options: object = {}): Promise<LibraryClient> {
    const first = new LibraryClient(simulator)
    simulator.pairing.scan(number, await first.nextCode())
    await first.ended
    return LibraryClient.logIn(simulator, first.state, options)
  }

  static async logIn(simulator: SimulatorAddress, state: ClientState, options: object = {}): Promise<LibraryClient> {
    const client = new LibraryClient(simulator, state, options)
    const whole = Promise.all([client.opened, client.ready]).then(() => null)
    const ended = await Promise.race([whole, client.ended])
    if (ended) throw new Error(`the line ended before it was ready: ${ended.code} ${ended.message}`)
    return client
  }

  /** The next QR code that it shows. */
  nextCode(): Promise<string> {
    const code = this.#codes.shift()
    return code === undefined ? new Promise((resolve) => this.#codeRequests.push(resolve)) : Promise.resolve(code)
  }

  end(): Promise<void> {
    return this.socket.end(undefined)
  }

  #offerCode(code: string): void {
    const request = this.#codeRequests.shift()
    if (request) request(code)
    else this.#codes.push(code)
  }
}
