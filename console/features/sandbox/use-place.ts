import { z } from 'zod'
import { useSearchState } from '../../components/search-state.ts'

const placeShape = z.object({
  /** The id of the sandbox connection; left out: the first. */
  connection: z.string().optional().catch(undefined),
  /** The recipient whose chat is open. */
  to: z
    .string()
    .regex(/^\d{1,20}$/)
    .optional()
    .catch(undefined),
  /** Only chats with these digits in their number, or with this in a text. */
  find: z.string().max(100).optional().catch(undefined),
  /** The delivery whose details are open. */
  at: z.string().optional().catch(undefined),
})

/** The open chat and delivery, kept in the address of the page. */
export function usePlace() {
  return useSearchState(placeShape)
}
