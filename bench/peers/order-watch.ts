/** Checks whether the jobs of each lane come in order. */
export class OrderWatch {
  readonly #last = new Map<number, number>()
  #done = 0
  #outOfOrder = 0

  note(lane: number, place: number): void {
    this.#done += 1
    if (place !== (this.#last.get(lane) ?? -1) + 1) this.#outOfOrder += 1
    this.#last.set(lane, place)
  }

  get done(): number {
    return this.#done
  }

  get outOfOrder(): number {
    return this.#outOfOrder
  }
}
