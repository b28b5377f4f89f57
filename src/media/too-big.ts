import type { MediaType } from '../core/message/message.ts'
import { bytesText } from '../format/bytes.ts'
import { MediaProblem } from './media-problem.ts'

interface Sizes {
  readonly type: MediaType
  readonly sizeBytes: number
  readonly capBytes: number
  /** The whole size is not known. */
  readonly isAtLeast?: boolean
}

/** The sizes differ in the text, too: where they are nearly the same it has the bytes. */
export function tooBig({ type, sizeBytes, capBytes, isAtLeast = false }: Sizes): MediaProblem {
  const isClose = bytesText(sizeBytes) === bytesText(capBytes)
  const text = (bytes: number) => `${bytesText(bytes)}${isClose ? ` (${bytes.toLocaleString('en')} bytes)` : ''}`
  const size = `The file has ${isAtLeast ? 'at least ' : ''}${text(sizeBytes)}`
  return new MediaProblem('media_too_big', `${size}; type ${type} may have at most ${text(capBytes)}.`)
}
