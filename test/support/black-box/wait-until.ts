import { setTimeout } from 'node:timers/promises'
import { LoadAwareDeadline } from './load-aware-deadline.ts'

const LEAST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 250

/** How long to wait, and how often to ask. */
type Limit = (
  | {
      /** Only against what never happens. It is a limit of an idle machine: a busy one gets more (`LoadAwareDeadline`). */
      readonly deadlineMs: number
    }
  | {
      /** A promise: by the clock, however busy the machine is. */
      readonly withinMs: number
    }
) & { readonly everyMs?: number }

/**
 * Asks again and again until the answer is there, and fails with `what` when the limit has passed. For what happens
 * in another process, which does not call back.
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

/** Until the next question: at most a twentieth of what the wait has lasted is added to it. */
export function pauseMs(passedMs: number): number {
  return Math.min(Math.max(LEAST_PAUSE_MS, passedMs / 20), LONGEST_PAUSE_MS)
}

function limitOf(limit: Limit, passedMs: () => number): () => boolean {
  if ('withinMs' in limit) return () => passedMs() > limit.withinMs
  const deadline = new LoadAwareDeadline(limit.deadlineMs)
  return () => deadline.isOver()
}
