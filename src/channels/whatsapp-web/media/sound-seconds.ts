/** The parts of a file that say what it holds. */
export interface FileEnds {
  readonly head: Buffer
  /** The last bytes; they may overlap with the head. */
  readonly tail: Buffer
  readonly sizeBytes: number
}

/** The length of an Ogg or MP3 file in whole seconds; null when its headers do not say it. */
export function readSoundSeconds(file: FileEnds): number | null {
  try {
    const seconds = file.head.toString('latin1', 0, 4) === 'OggS' ? readOgg(file) : readMp3(file)
    return seconds !== null && Number.isFinite(seconds) && seconds > 0 ? Math.max(1, Math.round(seconds)) : null
  } catch (error) {
    // The header is cut short.
    if (error instanceof RangeError) return null
    throw error
  }
}

// Opus always counts at this rate, whatever the sound was recorded at (RFC 7845, section 4).
const OPUS_RATE = 48_000
const OPUS_HEAD = 'OpusHead'
const VORBIS_HEAD = '\u0001vorbis'

/** The last page says how many samples there are. */
function readOgg({ head, tail }: FileEnds): number | null {
  const last = tail.lastIndexOf('OggS')
  if (last < 0) return null
  const samples = Number(tail.readBigInt64LE(last + 6))
  const opusAt = head.indexOf(OPUS_HEAD)
  if (opusAt >= 0) return (samples - head.readUInt16LE(opusAt + 10)) / OPUS_RATE
  const vorbisAt = head.indexOf(VORBIS_HEAD, 0, 'latin1')
  return vorbisAt >= 0 ? samples / head.readUInt32LE(vorbisAt + 12) : null
}

const ID3_BYTES = 10
const KILOBITS: Readonly<Record<'first' | 'later', readonly number[]>> = {
  first: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  later: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}
const RATES = [44_100, 48_000, 32_000]
const LAYER_3 = 1
const MPEG_1 = 3
const MPEG_2 = 2
const MONO = 3

function readMp3({ head, sizeBytes }: FileEnds): number | null {
  const start = head.toString('latin1', 0, 3) === 'ID3' ? ID3_BYTES + readSynchsafe(head, 6) : 0
  const header = head.readUInt32BE(start)
  const version = (header >>> 19) & 3
  if (header >>> 21 !== 0x7ff || ((header >>> 17) & 3) !== LAYER_3 || version === 1) return null
  const isFirst = version === MPEG_1
  const kilobits = KILOBITS[isFirst ? 'first' : 'later'][(header >>> 12) & 15]
  const rate = (RATES[(header >>> 10) & 3] ?? 0) / (isFirst ? 1 : version === MPEG_2 ? 2 : 4)
  const isMono = ((header >>> 6) & 3) === MONO
  const sideBytes = isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17
  const frames = readFrameCount(head.subarray(start + 4 + sideBytes))
  if (frames !== null) return (frames * (isFirst ? 1152 : 576)) / rate
  return kilobits ? ((sizeBytes - start) * 8) / (kilobits * 1000) : null
}

/** Encoders that change the bit rate say in the first frame how many there are; null when it does not. */
function readFrameCount(afterSide: Buffer): number | null {
  if (!['Xing', 'Info'].includes(afterSide.toString('latin1', 0, 4))) return null
  return (afterSide.readUInt32BE(4) & 1) === 1 ? afterSide.readUInt32BE(8) : null
}

/** Seven bits in each of four bytes. */
function readSynchsafe(bytes: Buffer, at: number): number {
  return [0, 1, 2, 3].reduce((value, index) => (value << 7) | (bytes.readUInt8(at + index) & 0x7f), 0)
}
