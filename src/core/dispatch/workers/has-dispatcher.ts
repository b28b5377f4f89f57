import type { WorkerView } from '../../ports/administration.ts'

/** Whether any worker is alive that sends. Without one, what is stored of sessions is how they stood before. */
export function hasDispatcher(workers: readonly WorkerView[]): boolean {
  // The heartbeat of a dispatcher whose row was deleted meanwhile writes a row without roles.
  return workers.some(({ isAlive, roles }) => isAlive && (roles.length === 0 || roles.includes('dispatch')))
}
