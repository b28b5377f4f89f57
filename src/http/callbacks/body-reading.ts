import type { AccountId } from '../../core/ids.ts'
import type { DeadlineItem, DeadlineQueue, Ticket } from '../server/deadline-queue.ts'
import { problem } from '../server/problem.ts'
import { readBody } from '../server/read-body.ts'
import type { RequestContext } from '../server/request-context.ts'
import type { BodyMemoryBudget } from './body-memory-budget.ts'

interface BodyReadingInput {
  readonly budget: BodyMemoryBudget
  /** Ends bodies that make no progress. */
  readonly stalls: DeadlineQueue
  readonly context: RequestContext
  readonly maxBytes: number
  /** The account whose budget it uses. */
  readonly owner: AccountId
  /** Called once, unless the request ends before. */
  onEnd(end: Buffer | 'too-large' | 'fragmented' | 'full'): void
}

// Each piece costs as much as a few hundred bytes, and the sender is not authenticated yet. Networks send pieces of a
// kilobyte and more. A thousand tiny pieces are allowed, so that a short body may come in any form.
const PIECES_ANYWAY = 1_000
const LEAST_BYTES_PER_PIECE = 128
// A network sends most bodies at once, and this much of the others within milliseconds.
const LEAST_PROGRESS_BYTES = 16 * 1024

/**
 * Reads the body of one callback, before it is known whether a network sent it.
 *
 * Memory is taken from the budget as the bytes come: announcing much and sending nothing takes none. It is kept until
 * `releaseMemory`, because the body stays in memory for as long as the receiver works on it.
 */
export class BodyReading implements DeadlineItem {
  readonly #input: BodyReadingInput
  #heldBytes = 0
  /** How many bytes had come at the last check for progress. */
  #seenBytes = 0
  #ticket: Ticket = 0
  #isOver = false

  constructor(input: BodyReadingInput) {
    this.#input = input
  }

  start(): void {
    const { context, maxBytes, stalls } = this.#input
    this.#ticket = stalls.add(this)
    context.response.once('close', () => {
      // After the whole body was read, the receiver releases its memory.
      if (!this.#isOver) this.#stop()
    })
    const mayKeep = (receivedBytes: number, pieces: number) => this.#mayKeep(receivedBytes, pieces)
    readBody(context, { maxBytes, mayKeep }, (body) => {
      if (body === null) this.#refuse('too-large')
      else if (context.isReplied) this.#stop()
      else this.#finish(body)
    })
  }

  /** Call it once the body is no longer needed. Calling it twice is harmless. */
  releaseMemory(): void {
    const { budget, owner } = this.#input
    if (this.#heldBytes > 0) budget.release(owner, this.#heldBytes)
    this.#heldBytes = 0
  }

  /** Checks whether enough has come since the last check. */
  onDeadline(): void {
    const { context, stalls } = this.#input
    if (this.#isOver || context.isReplied) return
    if (this.#heldBytes - this.#seenBytes < LEAST_PROGRESS_BYTES) {
      this.#stop()
      context.abort(problem('request_too_slow'))
      return
    }
    this.#seenBytes = this.#heldBytes
    this.#ticket = stalls.add(this)
  }

  #mayKeep(receivedBytes: number, pieces: number): boolean {
    const { budget, owner, context } = this.#input
    if (this.#isOver || context.isReplied) return false
    if (pieces > PIECES_ANYWAY + receivedBytes / LEAST_BYTES_PER_PIECE) return this.#refuse('fragmented')
    if (!budget.take(owner, receivedBytes - this.#heldBytes, receivedBytes)) return this.#refuse('full')
    this.#heldBytes = receivedBytes
    return true
  }

  #finish(body: Buffer): void {
    this.#isOver = true
    this.#input.stalls.remove(this.#ticket, this)
    this.#input.onEnd(body)
  }

  #refuse(why: 'too-large' | 'fragmented' | 'full'): false {
    this.#stop()
    this.#input.onEnd(why)
    return false
  }

  #stop(): void {
    this.#isOver = true
    this.#input.stalls.remove(this.#ticket, this)
    this.releaseMemory()
  }
}
