import { setTimeout } from 'node:timers/promises'

/**
 * Asks again and again until the answer is there, and fails with `what` when the deadline has passed. For what happens
 * in another process, which calls nobody back.
 */
export async function waitUntil<Answer>(
  what: string,
  ask: () => Promise<Answer | null | undefined | false>,
  { deadlineMs, everyMs = 50 }: { readonly deadlineMs: number; readonly everyMs?: number },
): Promise<Answer> {
  const end = performance.now() + deadlineMs
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== undefined && answer !== false) return answer
    if (performance.now() > end) throw new Error(`Waited ${deadlineMs} ms in vain: ${what}`)
    await setTimeout(everyMs)
  }
}
