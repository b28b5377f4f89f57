import type { Clock } from '../../core/ports/clock.ts'

/**
 * Makes request ids: short, cheap, and in practice unique within the installation. A random start per process and a
 * counter, because a random id for each request would cost more than all its other bookkeeping.
 */
export function createRequestIds(clock: Clock): () => string {
  const start = Math.floor(clock.random() * 36 ** 8)
    .toString(36)
    .padStart(8, '0')
  let count = 0
  return () => {
    count += 1
    return `${start}-${count.toString(36)}`
  }
}
