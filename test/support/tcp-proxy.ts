import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** The side that has sent a chunk. */
export type Side = 'client' | 'server'

/**
 * What happens to a chunk: `cut` drops it and the whole connection; `hold` keeps it, and all that this side of the connection
 * sends after it, until `release`.
 */
export type Result = 'forward' | 'cut' | 'hold'

/**
 * Decides about each chunk as it comes, in order. A chunk is whatever the network delivers at once: a part of a message, or
 * several.
 */
type Decide = (chunk: Buffer, connection: number) => Result

const FORWARD_ALL: Decide = () => 'forward'
const NO_SIDES: ReadonlySet<Side> = new Set()

interface Target {
  readonly port: number
  readonly host: string
}

/** A network whose faults tests control, between clients on this machine and a server. */
export class TcpProxy {
  /** May be set at any time. Example: cutting the server's reply to a commit leaves the client with an unknown result. */
  onClientData: Decide = FORWARD_ALL
  onServerData: Decide = FORWARD_ALL
  /** How long each chunk is delayed, in both directions. */
  delayMs = 0
  /** False: every new connection is reset. */
  acceptsConnections = true
  /** How many connections it has accepted. */
  connections = 0
  readonly #target: Target
  readonly #server: Server
  readonly #links = new Set<Link>()
  #swallowed = NO_SIDES

  private constructor(target: Target) {
    this.#target = target
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#join(client))
  }

  static async open(port: number, host = '127.0.0.1'): Promise<TcpProxy> {
    const proxy = new TcpProxy({ port, host })
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** The same URL, through the proxy. */
  through(url: string): string {
    const own = new URL(url)
    own.hostname = '127.0.0.1'
    own.port = String(this.port)
    return own.href
  }

  /**
   * What these sides send vanishes, on old and new connections, without any error: a cable was pulled. `heal` does not bring it
   * back. It closes the connections that have lost data, as they would end by themselves in time.
   */
  blackHole(...sides: readonly Side[]): void {
    this.#swallowed = new Set(sides.length > 0 ? sides : SIDES)
  }

  endBlackHole(): void {
    this.#swallowed = NO_SIDES
    for (const link of this.#links) if (link.hasLost) link.cut()
  }

  /** Forwards what was held, and all that came after it. */
  release(): void {
    for (const link of this.#links) link.release()
  }

  /** Resets every connection on both sides. */
  cutAll(): void {
    for (const link of this.#links) link.cut()
  }

  /** Forwards faithfully again. Connections that were cut stay cut. */
  heal(): void {
    this.onClientData = FORWARD_ALL
    this.onServerData = FORWARD_ALL
    this.delayMs = 0
    this.acceptsConnections = true
    this.endBlackHole()
    this.release()
  }

  /** Closing twice is harmless. */
  async close(): Promise<void> {
    if (!this.#server.listening) return
    const closed = once(this.#server, 'close')
    this.#server.close()
    this.cutAll()
    await closed
  }

  #join(client: Socket): void {
    client.on('error', () => {})
    if (!this.acceptsConnections) return void client.resetAndDestroy()
    this.connections += 1
    const server = connect({ ...this.#target, allowHalfOpen: true, noDelay: true })
    const rules: LinkRules = {
      number: this.connections,
      decide: (side, chunk, number) =>
        side === 'client' ? this.onClientData(chunk, number) : this.onServerData(chunk, number),
      swallows: (side) => this.#swallowed.has(side),
      delayMs: () => this.delayMs,
    }
    const link = new Link(client, server, rules)
    this.#links.add(link)
    link.whenOver(() => this.#links.delete(link))
  }
}

/** Cuts at the first chunk that contains these bytes. It does not recognise a pattern that is split over two chunks. */
export function cutAt(pattern: string | Buffer): Decide {
  return (chunk) => (chunk.includes(pattern) ? 'cut' : 'forward')
}

interface LinkRules {
  readonly number: number
  decide(side: Side, chunk: Buffer, number: number): Result
  swallows(side: Side): boolean
  delayMs(): number
}

interface Item {
  readonly dueAt: number
  readonly pass: () => void
}

/** The chunks that one side has sent and the other has not received yet, in order. */
interface Way {
  readonly items: Item[]
  isHeld: boolean
  timer: NodeJS.Timeout | null
}

const SIDES = ['client', 'server'] as const

/** One client with its connection to the server. */
class Link {
  /** Data was swallowed: a peer that waits for an answer waits for ever. */
  hasLost = false
  readonly #sockets: Readonly<Record<Side, Socket>>
  readonly #rules: LinkRules
  readonly #ways: Readonly<Record<Side, Way>> = {
    client: { items: [], isHeld: false, timer: null },
    server: { items: [], isHeld: false, timer: null },
  }
  #over = () => {}

  constructor(client: Socket, server: Socket, rules: LinkRules) {
    this.#sockets = { client, server }
    this.#rules = rules
    for (const side of SIDES) {
      const socket = this.#sockets[side]
      socket.on('data', (chunk: Buffer) => this.#take(side, chunk))
      socket.on('end', () => this.#queue(side, () => this.#other(side).end()))
      socket.on('error', () => this.#queue(side, () => this.cut()))
      socket.on('close', () => {
        if (client.destroyed && server.destroyed) this.#over()
      })
    }
  }

  whenOver(over: () => void): void {
    this.#over = over
  }

  release(): void {
    for (const side of SIDES) {
      this.#ways[side].isHeld = false
      this.#pump(side)
    }
  }

  cut(): void {
    for (const side of SIDES) {
      this.#ways[side].items.length = 0
      this.#sockets[side].resetAndDestroy()
    }
  }

  #take(side: Side, chunk: Buffer): void {
    const result = this.#rules.decide(side, chunk, this.#rules.number)
    if (result === 'cut') {
      this.cut()
      return
    }
    if (result === 'hold') this.#ways[side].isHeld = true
    this.#queue(side, () => this.#forward(side, chunk))
  }

  #forward(side: Side, chunk: Buffer): void {
    const [from, to] = [this.#sockets[side], this.#other(side)]
    if (to.write(chunk) || from.isPaused()) return
    // The reader is slower. The writer has to wait, or all of it would be kept in memory here.
    from.pause()
    to.once('drain', () => from.resume())
  }

  #queue(side: Side, pass: () => void): void {
    this.#ways[side].items.push({ dueAt: performance.now() + this.#rules.delayMs(), pass })
    this.#pump(side)
  }

  // Forwards one chunk after another, also when the delay changes while chunks are on the way.
  #pump(side: Side): void {
    const way = this.#ways[side]
    clearTimeout(way.timer ?? undefined)
    for (let item = way.items[0]; item && !way.isHeld; item = way.items[0]) {
      const waitMs = item.dueAt - performance.now()
      if (waitMs > 0) {
        way.timer = setTimeout(() => this.#pump(side), waitMs)
        return
      }
      way.items.shift()
      if (this.#rules.swallows(side)) this.hasLost = true
      else item.pass()
    }
  }

  #other(side: Side): Socket {
    return this.#sockets[side === 'client' ? 'server' : 'client']
  }
}
