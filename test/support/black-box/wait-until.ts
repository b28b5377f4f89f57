import { setTimeout } from 'node:timers/promises'
import { Patience } from './patience.ts'

/**
 * Asks again and again until the answer is there, and fails with `what` when the deadline has passed. For what happens
 * in another process, which calls nobody back. The deadline is one of a machine that has nothing else to do: a busy one gets
 * more (`Patience`). A limit that is itself a promise is to be measured.
 */
export async function waitUntil<Answer>(
  what: string,
  ask: () => Promise<Answer | null | undefined | false>,
  { deadlineMs, everyMs = 50 }: { readonly deadlineMs: number; readonly everyMs?: number },
): Promise<Answer> {
  const patience = new Patience(deadlineMs)
  const startedAt = performance.now()
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer
    if (patience.isOver()) {
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
      throw new Error(`Waited ${seconds} s in vain (limit ${deadlineMs / 1_000} s of an idle machine): ${what}`)
    }
    await setTimeout(everyMs)
  }
}
