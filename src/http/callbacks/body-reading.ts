import type { AccountId } from '../../core/ids.ts'
import type { DeadlineQueue, Ticket, Waiting } from '../server/deadline-queue.ts'
import { problem } from '../server/problem.ts'
import { readBody } from '../server/read-body.ts'
import type { RequestContext } from '../server/request-context.ts'
import type { BodyMemoryBudget } from './body-memory-budget.ts'

interface BodyReadingInput {
  readonly room: BodyMemoryBudget
  /** Ends what stands still. */
  readonly stalls: DeadlineQueue
  readonly exchange: RequestContext
  readonly maxBytes: number
  /** Whose room it takes. */
  readonly owner: AccountId
  /** Called once, unless the exchange ends before. */
  onEnd(end: Buffer | 'too-large' | 'fragmented' | 'full'): void
}

// Each piece costs as much as a few hundred bytes, and nobody has proven yet who sends them. Networks send pieces of a
// kilobyte and more. A thousand tiny ones are let pass, so that a short body may come in any way.
const PIECES_ANYWAY = 1_000
const LEAST_BYTES_PER_PIECE = 128
// A network sends the whole of most bodies at once, and this much of the others within milliseconds.
const LEAST_PROGRESS_BYTES = 16 * 1024

/**
 * The reading of one callback's body, of which nobody knows yet whether a network sent it.
 *
 * Room is taken as the bytes come: who announces much and sends nothing takes none. It is kept until `giveRoomBack`,
 * because the body stays in memory for as long as the receiver works on it.
 */
export class BodyReading implements Waiting {
  readonly #input: BodyReadingInput
  #heldBytes = 0
  /** When it was last looked whether it goes on. */
  #seenBytes = 0
  #ticket: Ticket = 0
  #isOver = false

  constructor(input: BodyReadingInput) {
    this.#input = input
  }

  start(): void {
    const { exchange, maxBytes, stalls } = this.#input
    this.#ticket = stalls.begin(this)
    exchange.response.once('close', () => {
      // Over when it was read: then the room is the receiver's to give back.
      if (!this.#isOver) this.#stop()
    })
    const admits = (receivedBytes: number, pieces: number) => this.#admits(receivedBytes, pieces)
    readBody(exchange, { maxBytes, admits }, (body) => {
      if (body === null) this.#refuse('too-large')
      else if (exchange.isReplied) this.#stop()
      else this.#finish(body)
    })
  }

  /** Once the body is no longer needed. Giving it back twice is harmless. */
  giveRoomBack(): void {
    const { room, owner } = this.#input
    if (this.#heldBytes > 0) room.giveBack(owner, this.#heldBytes)
    this.#heldBytes = 0
  }

  /** Time to look whether it goes on. */
  giveUp(): void {
    const { exchange, stalls } = this.#input
    if (this.#isOver || exchange.isReplied) return
    if (this.#heldBytes - this.#seenBytes < LEAST_PROGRESS_BYTES) {
      this.#stop()
      exchange.abort(problem('request_too_slow'))
      return
    }
    this.#seenBytes = this.#heldBytes
    this.#ticket = stalls.begin(this)
  }

  #admits(receivedBytes: number, pieces: number): boolean {
    const { room, owner, exchange } = this.#input
    if (this.#isOver || exchange.isReplied) return false
    if (pieces > PIECES_ANYWAY + receivedBytes / LEAST_BYTES_PER_PIECE) return this.#refuse('fragmented')
    if (!room.take(owner, receivedBytes - this.#heldBytes, receivedBytes)) return this.#refuse('full')
    this.#heldBytes = receivedBytes
    return true
  }

  #finish(body: Buffer): void {
    this.#isOver = true
    this.#input.stalls.end(this.#ticket, this)
    this.#input.onEnd(body)
  }

  #refuse(why: 'too-large' | 'fragmented' | 'full'): false {
    this.#stop()
    this.#input.onEnd(why)
    return false
  }

  #stop(): void {
    this.#isOver = true
    this.#input.stalls.end(this.#ticket, this)
    this.giveRoomBack()
  }
}
