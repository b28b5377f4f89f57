import { setTimeout } from 'node:timers/promises'
import { LoadAwareDeadline } from './load-aware-deadline.ts'

const LEAST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 250

/** How long to wait, and how often to check. */
type Limit = (
  | {
      /** A limit for what must never happen. It is meant for an idle machine: a busy one gets more time (`LoadAwareDeadline`). */
      readonly deadlineMs: number
    }
  | {
      /** A limit that is promised: it counts by the clock, however busy the machine is. */
      readonly withinMs: number
    }
) & { readonly everyMs?: number }

/**
 * Checks repeatedly until there is an answer, and fails with `what` when the limit has passed. For what happens in another
 * process, which cannot call back.
 */
export async function waitUntil<Answer>(
  what: string,
  ask: () => Promise<Answer | null | undefined | false>,
  limit: Limit,
): Promise<Answer> {
  const startedAt = performance.now()
  const passedMs = () => performance.now() - startedAt
  const isOver = limitOf(limit, passedMs)
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer
    if (isOver()) throw new Error(`Waited ${Math.round(passedMs())} ms in vain: ${what}`)
    await setTimeout(limit.everyMs ?? ('withinMs' in limit ? LEAST_PAUSE_MS : pauseMs(passedMs())))
  }
}

/** The pause before the next check. It grows by at most a twentieth of the time waited so far. */
export function pauseMs(passedMs: number): number {
  return Math.min(Math.max(LEAST_PAUSE_MS, passedMs / 20), LONGEST_PAUSE_MS)
}

function limitOf(limit: Limit, passedMs: () => number): () => boolean {
  if ('withinMs' in limit) return () => passedMs() > limit.withinMs
  const deadline = new LoadAwareDeadline(limit.deadlineMs)
  return () => deadline.isOver()
}
