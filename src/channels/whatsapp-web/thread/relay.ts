import { type Deadline, isOver } from './deadline.ts'
import { userOf } from './jid.ts'
import type { Credentials, Library, LibrarySocket, StanzaNode } from './library.ts'
import { buildMessage } from './message.ts'
import type { RelayEnd, SocketOrder } from './messages.ts'

export const ACK_EVENT = 'CB:ack,class:message'
const ACK_WITHIN_MS = 20_000

interface RelayParts {
  readonly library: Library
  readonly socket: LibrarySocket
  readonly credentials: Credentials
  /** Asks until when the message may be written; null: not at all. */
  readonly mayLeave: (wireId: string) => Promise<Deadline | null>
}

/**
 * Writes one message, at most once.
 *
 * The library reads the `length` of its additional nodes in the turn in which it writes the stanza, after all that waits. That is
 * the last moment in which it can be held back: a getter that throws leaves nothing written, and no key used.
 */
export class Relay {
  readonly #parts: RelayParts
  readonly #order: SocketOrder
  readonly #ended = Promise.withResolvers<RelayEnd>()
  readonly #encryptedFor = new Set<string>()
  #until: Deadline | null = null
  #isCancelled = false
  #hasLeft = false

  constructor(parts: RelayParts, order: SocketOrder) {
    this.#parts = parts
    this.#order = order
  }

  /** The message was encrypted for a device, and the step of its ratchet is committed. */
  async encrypted(jid: string): Promise<void> {
    // Asked again after each, because a commit may take long.
    this.#until = await this.#parts.mayLeave(this.#order.wireId)
    this.#encryptedFor.add(userOf(jid))
  }

  async run(): Promise<RelayEnd> {
    const { socket } = this.#parts
    const { jid, wireId } = this.#order
    const onAck = (node: StanzaNode) => {
      if (node.attrs['id'] === wireId) this.#ended.resolve({ kind: 'acked', error: node.attrs['error'] ?? null })
    }
    let timer: NodeJS.Timeout | undefined
    socket.ws.on(ACK_EVENT, onAck)
    try {
      const message = buildMessage(this.#parts, this.#order)
      const written = socket.relayMessage(jid, message, { messageId: wireId, additionalNodes: this.#fence() })
      // What it throws once the message has left says nothing: only the ack does.
      written.catch(() => {
        if (!this.#hasLeft)
          this.#ended.resolve({ kind: 'not-left', why: this.#mayBeWritten() ? 'not-encrypted' : 'held-back' })
      })
      timer = setTimeout(() => this.#endWithout('late'), ACK_WITHIN_MS)
      return await this.#ended.promise
    } finally {
      this.#isCancelled = true
      clearTimeout(timer)
      socket.ws.off(ACK_EVENT, onAck)
    }
  }

  cancel(): void {
    this.#endWithout('cancelled')
  }

  lineClosed(): void {
    this.#endWithout('closed')
  }

  #endWithout(why: Extract<RelayEnd, { kind: 'unanswered' }>['why']): void {
    this.#isCancelled = true
    this.#ended.resolve(this.#hasLeft ? { kind: 'unanswered', why } : { kind: 'not-left', why: 'held-back' })
  }

  #fence(): object {
    const pass = () => {
      if (!this.#mayBeWritten()) throw new Error('the message may not leave any more')
      // It leaves devices out that it could not encrypt for, and may be left with our own.
      if (!this.#encryptedFor.has(userOf(this.#order.jid)))
        throw new Error('the message was encrypted for no device of the recipient')
      this.#hasLeft = true
      return 0
    }
    return {
      get length() {
        return pass()
      },
    }
  }

  #mayBeWritten(): boolean {
    const { ws } = this.#parts.socket
    return !this.#isCancelled && ws.isOpen && this.#until !== null && !isOver(this.#until)
  }
}
