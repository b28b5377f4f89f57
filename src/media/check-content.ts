import type { MediaType } from '../core/message/message.ts'
import { readTracks } from './iso-tracks.ts'
import { MediaProblem } from './media-problem.ts'
import { sniffType } from './sniff-type.ts'

/** The formats that each type accepts, found by the bytes of the file. Null: anything. */
const ACCEPTED: Record<MediaType, { readonly mimes: readonly string[] | null; readonly words: string }> = {
  image: { mimes: ['image/jpeg', 'image/png', 'image/webp', 'image/gif'], words: 'JPEG, PNG, WebP or GIF' },
  video: { mimes: ['video/mp4', 'video/3gpp', 'video/quicktime', 'video/webm'], words: 'MP4, 3GPP, QuickTime or WebM' },
  audio: {
    mimes: ['audio/aac', 'audio/amr', 'audio/amr-wb', 'audio/mpeg', 'audio/mp4', 'audio/ogg', 'audio/wav'],
    words: 'AAC, AMR, MP3, M4A, Ogg or WAV',
  },
  document: { mimes: null, words: 'anything' },
}

/** The MIME type according to the first bytes. Null: the whole file is needed. Throws when it is of another type. */
export function checkHead(type: MediaType, head: Uint8Array): string | null {
  const found = sniffType(head)
  if (accepts(type, found.mime)) return found.mime
  if (mayBeSound(type, found.mime)) return null
  throw wrongType(type, found.words)
}

interface WholeFile {
  readonly head: Uint8Array
  readonly sizeBytes: number
  read(position: number, length: number): Promise<Uint8Array>
}

/** The MIME type according to the whole file. Throws when it is of another type. */
export async function checkWhole(type: MediaType, whole: WholeFile): Promise<string> {
  const found = sniffType(whole.head)
  if (accepts(type, found.mime)) return found.mime
  if (mayBeSound(type, found.mime)) {
    const tracks = await readTracks((position, length) => whole.read(position, length), whole.sizeBytes)
    if (tracks?.hasSound && !tracks.hasPicture) return 'audio/mp4'
  }
  throw wrongType(type, found.words)
}

/**
 * Phones record sound into files that say only MP4. The list of tracks shows whether there is a picture, and it is often at
 * the very end.
 */
function mayBeSound(type: MediaType, mime: string): boolean {
  return type === 'audio' && mime === 'video/mp4'
}

function accepts(type: MediaType, mime: string): boolean {
  const { mimes } = ACCEPTED[type]
  return mimes === null || mimes.includes(mime)
}

function wrongType(type: MediaType, foundWords: string): MediaProblem {
  return new MediaProblem(
    'media_wrong_type',
    `The file is ${foundWords}, but type ${type} takes ${ACCEPTED[type].words}.`,
  )
}
