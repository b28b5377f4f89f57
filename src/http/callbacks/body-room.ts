/** Bounds how much of bodies is in memory at once, in all and for each address. Counts what is announced, before it comes. */
export class BodyRoom {
  readonly #mostBytes: number
  readonly #mostBytesPerAddress: number
  readonly #takenBy = new Map<string, number>()
  #takenBytes = 0

  constructor(mostBytes: number, mostBytesPerAddress: number) {
    this.#mostBytes = mostBytes
    this.#mostBytesPerAddress = mostBytesPerAddress
  }

  /** False when there is none. */
  take(address: string, bytes: number): boolean {
    const taken = this.#takenBy.get(address) ?? 0
    if (this.#takenBytes + bytes > this.#mostBytes || taken + bytes > this.#mostBytesPerAddress) return false
    this.#takenBytes += bytes
    this.#takenBy.set(address, taken + bytes)
    return true
  }

  /** To be called once for each `take` that returned true. */
  giveBack(address: string, bytes: number): void {
    const left = (this.#takenBy.get(address) ?? 0) - bytes
    this.#takenBytes -= bytes
    if (left > 0) this.#takenBy.set(address, left)
    else this.#takenBy.delete(address)
  }
}
