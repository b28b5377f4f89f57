const MOST_STEPS = 5

/** The whole numbers that label an axis of counts, evenly spaced from 0 to the first that is not below `highest`. */
export function axisOf(highest: number): readonly number[] {
  const step = roundStep(Math.max(1, highest) / MOST_STEPS)
  return Array.from({ length: Math.max(1, Math.ceil(highest / step)) + 1 }, (_, at) => at * step)
}

/** The smallest of 1, 2, 5, 10, 20, 50, … that is not below this. */
function roundStep(least: number): number {
  let power = 1
  while (power * 10 < least) power *= 10
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? power * 10
}
