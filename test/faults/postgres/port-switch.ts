import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** One address that leads to one server at a time, as a floating address does after a failover. */
export class PortSwitch {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #target: number

  private constructor(target: number) {
    this.#target = target
    this.#server = createServer({ noDelay: true }, (client) => this.#join(client))
  }

  static async open(target: number): Promise<PortSwitch> {
    const way = new PortSwitch(target)
    way.#server.listen(0, '127.0.0.1')
    await once(way.#server, 'listening')
    return way
  }

  /** The same URL, through the switch. */
  through(url: string): string {
    const own = new URL(url)
    own.port = String((this.#server.address() as AddressInfo).port)
    return own.href
  }

  /** Leads to another server, and cuts all connections. */
  moveTo(target: number): void {
    this.#target = target
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.resetAndDestroy()
    await closed
  }

  #join(client: Socket): void {
    const server = connect({ port: this.#target, host: '127.0.0.1', noDelay: true })
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket)
      socket.on('error', () => other.resetAndDestroy())
      socket.on('close', () => {
        this.#sockets.delete(socket)
        other.destroy()
      })
      socket.pipe(other)
    }
  }
}
