import { z } from 'zod'
import { plain } from './viewer-text.ts'

/** Milliseconds since 1970, UTC. */
export const instant = z.int()

/** Path parameters: an account, and an object in it. */
export const ofAccount = z.object({ account: z.string() })
export const inAccount = z.object({ account: z.string(), id: z.string() })

/** One page of a list, newest first. `next` asks for the one after it; null: this was the last. */
export function page<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), next: plain.nullable() })
}

export const done = z.object({ done: z.literal(true) })

/** The body of every refusal. */
const consoleProblem = z.object({
  error: z.object({
    /** Stable, for programs. */
    code: z.string(),
    /** One sentence: what is wrong, and how to fix it. */
    message: z.string(),
    /** Errors of single form fields, by their names in the body. */
    fields: z.array(z.object({ field: z.string(), message: z.string() })),
    requestId: z.string(),
  }),
})
export type ConsoleProblem = z.output<typeof consoleProblem>
