/**
 * A time by two clocks that all threads of a process share: one that never jumps but stands still while the machine is suspended,
 * and the wall clock. It is over as soon as either of them says so.
 */
export interface Deadline {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function deadlineIn(ms: number): Deadline {
  return { monotonicMs: monotonicMs() + ms, wallMs: Date.now() + ms }
}

export function isOver(deadline: Deadline): boolean {
  return monotonicMs() >= deadline.monotonicMs || Date.now() >= deadline.wallMs
}

/** Unlike `performance.now`, it counts from the same moment in each thread. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
