export interface Tracks {
  readonly hasSound: boolean
  readonly hasPicture: boolean
}

/** Larger lists of tracks belong to films of many hours. */
const MOST_MOVIE_BYTES = 4 * 1024 * 1024
/** A file has a handful of boxes at the top. More is somebody's attempt to keep us busy. */
const MOST_BOXES = 1000

type Read = (position: number, length: number) => Promise<Uint8Array>

/**
 * Which kinds of track an MP4 file has. Only finds its list of tracks (`moov`) and looks for the handlers named there;
 * nothing is decoded. Null when there is no such list or it cannot be read.
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

/** Each track says in its `hdlr` box what it is: version and flags, four zero bytes, then `soun` or `vide`. */
function findHandlers(movie: Uint8Array): Tracks {
  const bytes = Buffer.from(movie.buffer, movie.byteOffset, movie.byteLength)
  const kinds = new Set<string>()
  for (let at = bytes.indexOf('hdlr'); at !== -1; at = bytes.indexOf('hdlr', at + 4)) kinds.add(textAt(bytes, at + 12))
  return { hasSound: kinds.has('soun'), hasPicture: kinds.has('vide') }
}

function textAt(bytes: Uint8Array, position: number): string {
  return String.fromCharCode(...bytes.subarray(position, position + 4))
}
