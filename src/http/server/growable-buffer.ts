// Small enough for slow bodies, large enough that a usual body of two or three pieces is copied once.
const LEAST_BYTES = 2_048

/**
 * Collects bytes that come in pieces. A single piece is kept as it is; several are copied into one buffer.
 *
 * Each piece costs some 450 bytes however small it is, and the caller chooses the size: 3 MB in pieces of one byte took
 * 1.4 GB as a list of buffers. Here memory is at most twice the bytes received. Memory is not allocated by the announced
 * length, because a caller can announce much and send nothing.
 */
export class GrowableBuffer {
  readonly #mostBytes: number
  #bytes: Buffer | null = null
  #length = 0

  /** `mostBytes`: the largest possible total. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (this.#bytes === null) this.#bytes = piece
    else this.#append(this.#bytes, piece, length)
    this.#length = length
  }

  /** All bytes, without a copy. Nothing may be added afterwards. */
  joined(): Buffer {
    const bytes = this.#bytes ?? Buffer.alloc(0)
    return bytes.length === this.#length ? bytes : bytes.subarray(0, this.#length)
  }

  #append(bytes: Buffer, piece: Buffer, length: number): void {
    const hasRoom = length <= bytes.length
    const roomy = hasRoom ? bytes : this.#larger(length)
    if (!hasRoom) bytes.copy(roomy, 0, 0, this.#length)
    piece.copy(roomy, this.#length)
    this.#bytes = roomy
  }

  /** Doubles the size each time, so that each byte is copied twice on average, however many pieces there are. */
  #larger(length: number): Buffer {
    const wanted = Math.min(this.#mostBytes, Math.max(LEAST_BYTES, 2 * length))
    return Buffer.allocUnsafe(Math.max(length, wanted))
  }
}
