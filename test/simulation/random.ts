import { createRandom } from '../support/black-box/random.ts'

/** Draws all random values of a simulated world. The same seed draws the same values. */
export class Random {
  readonly #seed: number
  readonly #next: () => number

  constructor(seed: number) {
    this.#seed = seed
    const random = createRandom(seed)
    this.#next = () => random.next()
    // Neighbouring seeds begin alike; a few draws separate them.
    for (let i = 0; i < 4; i++) this.#next()
  }

  /** A separate generator for one part of the world, so that its draws do not change those of other parts. */
  fork(name: string): Random {
    let mixed = this.#seed
    for (const character of name) mixed = Math.imul(mixed ^ character.charCodeAt(0), 0x01000193)
    return new Random(mixed >>> 0)
  }

  next(): number {
    return this.#next()
  }

  chance(probability: number): boolean {
    return this.#next() < probability
  }

  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.#next() * (most - least + 1))
  }

  pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#next() * items.length)]
    if (item === undefined) throw new Error('there is nothing to pick from')
    return item
  }

  /** One of the names, as often as its weight says. */
  weighed<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights) as [Name, number][]
    let left = this.#next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      left -= weight
      if (left < 0) return name
    }
    return this.pick(entries)[0]
  }
}
