import { counted } from '../../format/counted.ts'
import { plainTime } from '../../format/instants.ts'

const DAY_MS = 86_400_000

/** Says that a text was deleted, when, and why. */
export function deletionText(deletedAt: number, acceptedAt: number): string {
  const days = Math.floor((deletedAt - acceptedAt) / DAY_MS)
  return `Content: deleted at ${plainTime(deletedAt)}, ${counted(days, 'day')} after it came, because its time was over.`
}
