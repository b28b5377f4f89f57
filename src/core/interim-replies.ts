const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const TWO = 0x32
// `HTTP/1.1 1`: until then it is unknown whether the answer is an interim one.
const INTERIM = /^HTTP\/1\.\d 1$/
const STATUS = /^HTTP\/1\.\d 100$/

/**
 * Replaces the status 100 of interim answers by 102 in the bytes that come in over one connection. A server may send interim
 * answers unasked, and we ignore all of them. The HTTP library skips every other one, but ends the connection at a 100 that it
 * did not ask for.
 */
export class InterimReplies {
  /** The status line so far, up to its status. */
  #start = ''
  #lineLength = 0
  #isInHead = true

  /** A request was written, so the next bytes are the head of its answer. */
  expectAnswer(): void {
    if (!this.#isInHead) this.#beginHead()
  }

  /** Changes the bytes where they lie. */
  pass(bytes: Uint8Array): void {
    for (let index = 0; this.#isInHead && index < bytes.length; index++) this.#pass(bytes, index)
  }

  #beginHead(): void {
    this.#start = ''
    this.#lineLength = 0
    this.#isInHead = true
  }

  #pass(bytes: Uint8Array, index: number): void {
    const byte = bytes[index] ?? 0
    if (this.#start.length < 'HTTP/1.1 100'.length) {
      this.#start += String.fromCharCode(byte)
      if (STATUS.test(this.#start)) bytes[index] = TWO
      // Not interim: the head of the answer itself, and its body, are left alone.
      else if (this.#start.length === 'HTTP/1.1 1'.length) this.#isInHead = INTERIM.test(this.#start)
    }
    if (byte === LINE_FEED) {
      // The empty line behind an interim answer.
      if (this.#lineLength === 0) this.#beginHead()
      else this.#lineLength = 0
    } else if (byte !== CARRIAGE_RETURN) this.#lineLength += 1
  }
}
