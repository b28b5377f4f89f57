import type { WorkerView } from '../../ports/administration.ts'

/** Whether any worker is alive that sends. Without one, what is stored of sessions is how they stood before. */
export function hasDispatcher(workers: readonly WorkerView[]): boolean {
  // One that names no roles is of a version in which each process did everything.
  return workers.some(({ isAlive, roles }) => isAlive && (roles.length === 0 || roles.includes('dispatch')))
}
