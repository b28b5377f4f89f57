const LONGEST_MS = 30_000

/**
 * How long to wait before a process that ended is started again, after so many endings shortly before this one. At once
 * the first time, because most causes strike once; then ever later, because a process that cannot live costs a start,
 * and with it connections to the database, each time.
 */
export function restartDelayMs(earlierEndings: number): number {
  return earlierEndings === 0 ? 0 : Math.min(LONGEST_MS, 1_000 * 2 ** (earlierEndings - 1))
}
