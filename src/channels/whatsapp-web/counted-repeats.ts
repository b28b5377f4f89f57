import type { SentContents } from './sent-contents.ts'
import type { SocketOwner } from './thread/host.ts'

interface RepeatsParts {
  readonly contents: SentContents
  readonly isBlocked: (to: string) => boolean | Promise<boolean>
  /** Whether the line that asks is still in use. */
  readonly isCurrent: () => boolean
}

// A device that cannot read two repeats either never will.
const MOST_REPEATS = 2

/** Sends a message again to devices that could not read it, and counts how often. */
export function countedRepeats(parts: RepeatsParts): Pick<SocketOwner, 'findRepeat' | 'mayRepeat'> {
  const { contents, isBlocked, isCurrent } = parts
  const findRepeat = (wireId: string, device: string) => contents.findRepeat(wireId, device, MOST_REPEATS)
  return {
    findRepeat,
    async mayRepeat(wireId, device) {
      const content = await findRepeat(wireId, device)
      if (!content || (await isBlocked(content.to))) return false
      if (!(await contents.countRepeat(wireId, device, MOST_REPEATS))) return false
      // Another line may have counted from the number before this one.
      if (!isCurrent()) throw new Error('this line is not used any more')
      // Checked once more, because the commit may have taken long (G13).
      return !(await isBlocked(content.to))
    },
  }
}
