import type { SentContents } from './sent-contents.ts'
import type { SocketOwner } from './thread/host.ts'

interface RepeatsParts {
  readonly contents: SentContents
  readonly isBlocked: (to: string) => boolean | Promise<boolean>
  /** Whether it is still the line that asks. */
  readonly isCurrent: () => boolean
}

// A device that could not read it twice more never will.
const MOST_REPEATS = 2

/** How often devices that could not read a message are sent it again. */
export function countedRepeats(parts: RepeatsParts): Pick<SocketOwner, 'findRepeat' | 'mayRepeat'> {
  const { contents, isBlocked, isCurrent } = parts
  const findRepeat = (wireId: string, device: string) => contents.findRepeat(wireId, device, MOST_REPEATS)
  return {
    findRepeat,
    async mayRepeat(wireId, device) {
      const content = await findRepeat(wireId, device)
      if (!content || (await isBlocked(content.to))) return false
      if (!(await contents.countRepeat(wireId, device, MOST_REPEATS))) return false
      // Another line has begun, and may have found the number from before.
      if (!isCurrent()) throw new Error('this line is not used any more')
      // Once more, because a commit may take long (G13).
      return !(await isBlocked(content.to))
    },
  }
}
