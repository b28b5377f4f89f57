import type { Socket } from 'node:net'
import { networkOf, plainAddress } from './source-address.ts'

interface ConnectionLimit {
  readonly most: number
  /** A proxy of the operator stands for many callers, so it has no limit. */
  isProxy(address: string): boolean
}

/** Limits the open connections of each caller, so that one caller cannot use up all of them (G8). */
export class PerClientConnectionLimit {
  readonly #limit: ConnectionLimit
  readonly #open = new Map<string, number>()

  constructor(limit: ConnectionLimit) {
    this.#limit = limit
  }

  /** False when its caller is at the limit. A counted connection is released when it closes. */
  take(socket: Socket): boolean {
    // No address: a local socket, or closed already.
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
