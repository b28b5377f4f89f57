// Small enough for what trickles, large enough that a usual body of two or three pieces is copied once.
const LEAST_BYTES = 2_048

/**
 * Bytes that come in pieces. One piece is kept as it came; of several only the bytes are kept.
 *
 * A piece costs some 450 bytes however little is in it, and whoever sends chooses how little: 3 MB in pieces of one byte
 * took 1.4 GB as a list of buffers. Here it is at most twice what was sent. Room for what is announced is not made
 * before it comes: whoever announces much need not send it.
 */
export class GrowableBuffer {
  readonly #mostBytes: number
  #bytes: Buffer | null = null
  #length = 0

  /** `mostBytes`: how many there can be in the end. */
  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (this.#bytes === null) this.#bytes = piece
    else this.#append(this.#bytes, piece, length)
    this.#length = length
  }

  /** All of them, without a copy. Nothing may be added afterwards. */
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

  /** Twice as large each time, so that each byte is copied twice on average, however many pieces there are. */
  #larger(length: number): Buffer {
    const wanted = Math.min(this.#mostBytes, Math.max(LEAST_BYTES, 2 * length))
    return Buffer.allocUnsafe(Math.max(length, wanted))
  }
}
