/** Random values that can be repeated: the same seed gives the same values. */
export interface Random {
  /** A number in [0, 1). */
  next(): number
  /** A whole number from `least` to `most`, both included. */
  between(least: number, most: number): number
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  // mulberry32: short, and random enough to scatter times.
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return { next, between: (least, most) => least + Math.floor(next() * (most - least + 1)) }
}
