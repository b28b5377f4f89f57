interface Tracks {
  readonly hasSound: boolean
  readonly hasPicture: boolean
}

/** Larger lists of tracks belong to films of many hours. */
const MOST_MOVIE_BYTES = 4 * 1024 * 1024
/** A file has a handful of top-level boxes. More is an attempt to keep us busy. */
const MOST_BOXES = 1000

type Read = (position: number, length: number) => Promise<Uint8Array>

/**
 * Which kinds of track an MP4 file has. Only finds its list of tracks (`moov`) and the handlers named there, and decodes
 * nothing. Null when there is no such list or it cannot be read.
 */
export async function readTracks(read: Read, sizeBytes: number): Promise<Tracks | null> {
  let position = 0
  for (let boxes = 0; boxes < MOST_BOXES && position + 8 <= sizeBytes; boxes += 1) {
    const header = parseBoxHeader(await read(position, 16), sizeBytes - position)
    if (!header) return null
    if (header.type === 'moov') {
      if (header.length > MOST_MOVIE_BYTES || position + header.length > sizeBytes) return null
      return findHandlers(await read(position, header.length))
    }
    position += header.length
  }
  return null
}

function parseBoxHeader(
  bytes: Uint8Array,
  restBytes: number,
): { readonly type: string; readonly length: number } | null {
  if (bytes.length < 8) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const type = textAt(bytes, 4)
  const short = view.getUint32(0)
  // 0: to the end of the file. 1: the length follows as 64 bits.
  if (short === 0) return { type, length: restBytes }
  if (short === 1) return bytes.length < 16 ? null : atLeast(16, { type, length: Number(view.getBigUint64(8)) })
  return atLeast(8, { type, length: short })
}

function atLeast<Header extends { readonly length: number }>(least: number, header: Header): Header | null {
  return header.length >= least ? header : null
}

// `hdlr`, `soun` and `vide`, as numbers of 32 bits.
const HANDLER = 0x68646c72
const SOUND = 0x736f756e
const PICTURE = 0x76696465

/**
 * The `hdlr` box of a track contains its kind: version and flags, four zero bytes, then `soun` or `vide`. Compares
 * numbers and creates no strings: with one string per match, 4 MB of nothing but `hdlr` blocked the event loop for 0.9 s.
 */
function findHandlers(movie: Uint8Array): Tracks {
  const view = new DataView(movie.buffer, movie.byteOffset, movie.byteLength)
  let hasSound = false
  let hasPicture = false
  for (let at = 0; at + 16 <= movie.length && !(hasSound && hasPicture); at += 1) {
    if (view.getUint32(at) !== HANDLER) continue
    const kind = view.getUint32(at + 12)
    hasSound ||= kind === SOUND
    hasPicture ||= kind === PICTURE
  }
  return { hasSound, hasPicture }
}

function textAt(bytes: Uint8Array, position: number): string {
  return String.fromCharCode(...bytes.subarray(position, position + 4))
}
