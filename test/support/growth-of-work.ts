/** A parser of input from outside, with an input that might be expensive for it. */
export interface ParserUnderLoad {
  readonly name: string
  /** Size of the smallest input. The largest is eight times as large. */
  readonly size: number
  /** Returns the call to measure. Creating the input is not measured. */
  readonly prepare: (size: number) => () => unknown
}

/** Doubling the input costs 2 times as much in a linear parser and 4 times in a quadratic one. */
export const MOST_GROWTH = 2.8

const DOUBLINGS = 3
const LARGEST = 2 ** DOUBLINGS
// Long enough for the resolution of CPU time, short enough that hundreds of measurements take seconds.
const SAMPLE_MS = 0.5
const WARM_UP_MS = 2
const SAMPLES = 3
const MOST_TRIES = 8

/**
 * By what factor the CPU time grows when the input doubles, averaged over three doublings. It uses CPU time of this process
 * and the minimum of several samples, so that other busy processes do not matter. A result that is too high is measured
 * anew with samples twice as long: one sample that was counted too short would spoil every ratio with it.
 */
export function growthOfWork({ size, prepare }: ParserUnderLoad): number {
  const [small, large] = [prepare(size), prepare(size * LARGEST)]
  const calls = callsFor(small, WARM_UP_MS) * (SAMPLE_MS / WARM_UP_MS)
  let growth = Number.POSITIVE_INFINITY
  for (let tried = 0; tried < MOST_TRIES && growth > MOST_GROWTH; tried += 1) {
    const leastOf = (call: () => unknown, count: number) =>
      Math.min(...Array.from({ length: SAMPLES }, () => msPerCall(call, Math.ceil(count * 2 ** tried))))
    growth = (leastOf(large, calls / LARGEST) / leastOf(small, calls)) ** (1 / DOUBLINGS)
  }
  return growth
}

/** How many calls take at least this long. Also warms the parser up. */
function callsFor(call: () => unknown, leastMs: number): number {
  for (let calls = 1; ; calls *= 2) {
    if (msPerCall(call, calls) * calls >= leastMs) return calls
  }
}

function msPerCall(call: () => unknown, calls: number): number {
  const before = process.cpuUsage()
  for (let done = 0; done < calls; done += 1) call()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000 / calls
}
