import type { FoundType } from './found-type.ts'

const MP3_KBPS = {
  mpeg1: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  mpeg2: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}
const MP3_HERTZ = [44_100, 48_000, 32_000]

/**
 * Recognises MP3 and AAC files that begin with a frame instead of a header. Eleven bits mark its start, and any file may
 * begin with those by chance. So the values of the frame must be valid, and the next frame must follow where it ends.
 */
export function sniffAudioFrames(head: Uint8Array): FoundType | null {
  if (areFrames(head, mp3FrameLength)) return { mime: 'audio/mpeg', words: 'an MP3 recording' }
  if (areFrames(head, aacFrameLength)) return { mime: 'audio/aac', words: 'an AAC recording' }
  return null
}

type FrameLength = (head: Uint8Array, at: number) => number | null

/** True when the head is frames as far as it reaches, up to three of them. */
function areFrames(head: Uint8Array, frameLength: FrameLength): boolean {
  let at = 0
  for (let frames = 0; frames < 3; frames += 1) {
    // The frame before reaches the end of the head, so the file may be valid.
    if (frames > 0 && at + 4 > head.length) return true
    const length = frameLength(head, at)
    if (length === null) return false
    at += length
  }
  return true
}

function mp3FrameLength(head: Uint8Array, at: number): number | null {
  const [sync = 0, kind = 0, rates = 0] = head.subarray(at, at + 3)
  // Layer III only. The bytes FF FE, which begin many text files, would be Layer I.
  if (sync !== 0xff || (kind & 0xe0) !== 0xe0 || (kind & 0x06) !== 0x02) return null
  const version = (kind >> 3) & 3
  const hertz = MP3_HERTZ[(rates >> 2) & 3]
  if (version === 1 || hertz === undefined) return null
  const isMpeg1 = version === 3
  const kbps = MP3_KBPS[isMpeg1 ? 'mpeg1' : 'mpeg2'][rates >> 4]
  if (!kbps) return null
  const divisor = version === 0 ? 4 : isMpeg1 ? 1 : 2
  return Math.floor(((isMpeg1 ? 144_000 : 72_000) * kbps) / (hertz / divisor)) + ((rates >> 1) & 1)
}

function aacFrameLength(head: Uint8Array, at: number): number | null {
  const [sync = 0, kind = 0, rates = 0, high = 0, middle = 0, low = 0] = head.subarray(at, at + 6)
  if (sync !== 0xff || (kind & 0xf6) !== 0xf0 || ((rates >> 2) & 15) > 12) return null
  const length = ((high & 3) << 11) | (middle << 3) | (low >> 5)
  return length >= 7 ? length : null
}
