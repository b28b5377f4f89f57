import type { Socket } from 'node:net'
import { networkOf, plainAddress } from './source-address.ts'

interface ConnectionLimit {
  readonly most: number
  /** Behind a proxy of the operator's are many callers. */
  isProxy(address: string): boolean
}

/** How many connections each caller has, so that one who opens all there may be cannot keep the others out (G8). */
export class PerClientConnectionLimit {
  readonly #limit: ConnectionLimit
  readonly #open = new Map<string, number>()

  constructor(limit: ConnectionLimit) {
    this.#limit = limit
  }

  /** False when its caller has as many as it may. One that was counted gives its place back when it closes. */
  take(socket: Socket): boolean {
    // None: a socket of this machine, or gone already.
    const address = plainAddress(socket.remoteAddress ?? '')
    if (address === '' || this.#limit.isProxy(address)) return true
    const caller = networkOf(address)
    const open = this.#open.get(caller) ?? 0
    if (open >= this.#limit.most) return false
    this.#open.set(caller, open + 1)
    socket.once('close', () => this.#release(caller))
    return true
  }

  #release(caller: string): void {
    const left = (this.#open.get(caller) ?? 0) - 1
    if (left > 0) this.#open.set(caller, left)
    else this.#open.delete(caller)
  }
}
