import { setTimeout as sleep } from 'node:timers/promises'
import type { BinaryNode } from './binary-node.ts'
import type { ClientPayload, PairingData, WebSocket, WhatsAppLibrary } from './library.ts'
import { framed, HEADER, type KeyPair, NoiseResponder } from './noise-responder.ts'
import type { LinkedDevice, Phone } from './phone.ts'

const OPEN = 1
const LENGTH_BYTES = 3
// `ED 00 01`, and the length of the rest.
const ROUTING_BYTES = 7

/** A device that waits to be linked. */
export interface WaitingDevice extends PairingData {
  readonly noise: Buffer
  readonly refs: readonly string[]
  /** Set once the device was notified that its secret is no longer valid. */
  refresh?: { readonly id: string; isAcknowledged: boolean }
  /** The secret of the code that a phone could not scan. */
  refusedSecret?: string
  /** Set once a phone has accepted the device. */
  accepted?: { readonly phone: Phone; readonly id: number; readonly details: Buffer }
}

interface LineParts {
  readonly library: WhatsAppLibrary
  readonly socket: WebSocket
  readonly staticKey: KeyPair
  readonly certificate: () => Uint8Array
  readonly onLogin: (line: Line, clientStatic: Buffer, payload: ClientPayload) => void
  readonly onNode: (line: Line, node: BinaryNode) => Promise<void>
  readonly onBroken: (line: Line, error: unknown) => void
}

/** One connection of a client. */
export class Line {
  /** The device that has logged in. */
  login: { readonly phone: Phone; readonly device: LinkedDevice } | null = null
  waiting: WaitingDevice | null = null
  /** The routing information with which the client began. */
  routing: Buffer | null = null
  isReplaced = false
  /** The pause between two frames that the server sends. */
  gapMs = 0
  readonly #parts: LineParts
  readonly #noise: NoiseResponder
  #bytes = Buffer.alloc(0)
  #hasBegun = false
  #isFrozen = false
  #isEnded = false
  #cut: 'no' | 'next' | 'done' = 'no'
  /** Resolves when all frames were sent; null: none waits. */
  #leaving: Promise<void> | null = null
  #stage: 'hello' | 'finish' | 'open' = 'hello'

  constructor(parts: LineParts) {
    this.#parts = parts
    this.#noise = new NoiseResponder(parts.staticKey)
    let last = Promise.resolve()
    parts.socket.on('message', (data) => {
      last = last.then(() => this.#read(data)).catch((error: unknown) => parts.onBroken(this, error))
    })
  }

  /** While true, nothing is read or answered, as if the server had died. */
  get isFrozen(): boolean {
    return this.#isFrozen
  }

  set isFrozen(isFrozen: boolean) {
    this.#isFrozen = isFrozen
    // Otherwise the WebSocket itself would still answer a close.
    if (isFrozen) this.#parts.socket.pause()
    else this.#parts.socket.resume()
  }

  send(node: BinaryNode): void {
    if (this.#isFrozen) return
    const frame = framed(this.#noise.encrypt(this.#parts.library.encodeBinaryNode(node)))
    if (this.gapMs === 0 && this.#leaving === null) {
      this.#write(frame)
      return
    }
    const leaving = (this.#leaving ?? Promise.resolve()).then(() => sleep(this.gapMs)).then(() => this.#write(frame))
    this.#leaving = leaving
    void leaving.then(() => {
      if (this.#leaving === leaving) this.#leaving = null
    })
  }

  /** Cuts the next frame in half and ends the connection. */
  cutNextFrame(): void {
    this.#cut = 'next'
  }

  terminate(): void {
    // Frames that still wait are lost.
    this.#isEnded = true
    this.#parts.socket.terminate()
  }

  /** Sends a last node, and ends the connection when it was sent. */
  endWith(node: BinaryNode): void {
    this.send(node)
    void (this.#leaving ?? Promise.resolve()).then(() => sleep(20)).then(() => this.terminate())
  }

  #write(frame: Buffer): void {
    const { socket } = this.#parts
    if (socket.readyState !== OPEN || this.#isFrozen || this.#cut === 'done') return
    if (this.#cut === 'no') {
      socket.send(frame)
      return
    }
    this.#cut = 'done'
    socket.send(frame.subarray(0, Math.ceil(frame.length / 2)))
    setTimeout(() => this.terminate(), 20)
  }

  async #read(data: Buffer): Promise<void> {
    if (this.#isFrozen || this.#isEnded) return
    this.#bytes = Buffer.concat([this.#bytes, data])
    if (!this.#hasBegun) this.#readHeader()
    while (this.#bytes.length >= LENGTH_BYTES && !this.#isEnded) {
      const end = LENGTH_BYTES + this.#bytes.readUIntBE(0, LENGTH_BYTES)
      if (this.#bytes.length < end) return
      const frame = Buffer.from(this.#bytes.subarray(LENGTH_BYTES, end))
      this.#bytes = this.#bytes.subarray(end)
      await this.#readFrame(frame)
    }
  }

  #readHeader(): void {
    if (this.#bytes.subarray(0, 2).toString() === 'ED') {
      const end = ROUTING_BYTES + this.#bytes.readUIntBE(4, LENGTH_BYTES)
      this.routing = Buffer.from(this.#bytes.subarray(ROUTING_BYTES, end))
      this.#bytes = this.#bytes.subarray(end)
    }
    if (!this.#bytes.subarray(0, HEADER.length).equals(HEADER)) throw new Error('the header is wrong')
    this.#bytes = this.#bytes.subarray(HEADER.length)
    this.#hasBegun = true
  }

  async #readFrame(frame: Buffer): Promise<void> {
    const { library, socket, certificate, onLogin, onNode } = this.#parts
    const { HandshakeMessage, ClientPayload } = library.proto
    if (this.#stage === 'open') return onNode(this, await library.decodeBinaryNode(this.#noise.decrypt(frame)))
    const { clientHello, clientFinish } = HandshakeMessage.decode(frame)
    if (this.#stage === 'hello' && clientHello) {
      const serverHello = this.#noise.answerHello(clientHello.ephemeral, certificate())
      socket.send(framed(HandshakeMessage.encode({ serverHello }).finish()))
      this.#stage = 'finish'
    } else if (this.#stage === 'finish' && clientFinish) {
      const { clientStatic, payload } = this.#noise.readFinish(clientFinish.static, clientFinish.payload)
      this.#stage = 'open'
      onLogin(this, clientStatic, ClientPayload.decode(payload))
    } else throw new Error(`this frame does not belong to the handshake, which waits for ${this.#stage}`)
  }
}
