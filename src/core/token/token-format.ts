import { BASE62 } from '../base62.ts'

/** How a token starts, so that people and secret scanners know one when they see it. */
export const TOKEN_START = 'nco_'
const TOKEN_PATTERN = /^nco_[0-9A-Za-z]{38}$/
const SECRET_LENGTH = 32
const CHECKSUM_LENGTH = 6
const PREFIX_LENGTH = 8

/**
 * Makes a token: the start, 32 random characters (190 bits) and a checksum. `drawBytes` must be a source fit for
 * secrets; it is asked again as long as characters are missing.
 */
export function createToken(drawBytes: (count: number) => Uint8Array): string {
  let text = TOKEN_START
  while (text.length < TOKEN_START.length + SECRET_LENGTH) {
    for (const byte of drawBytes(SECRET_LENGTH)) {
      // 248 is the largest multiple of 62 a byte reaches. With the bytes beyond it, some characters would come up
      // more often than others.
      if (byte < 248 && text.length < TOKEN_START.length + SECRET_LENGTH) text += BASE62.charAt(byte % 62)
    }
  }
  return text + checksumOf(text)
}

/** False for what cannot be a token of ours, so that guesses cost no look-up. True says nothing about validity. */
export function isWellFormedToken(text: string): boolean {
  if (!TOKEN_PATTERN.test(text)) return false
  const end = text.length - CHECKSUM_LENGTH
  return text.slice(end) === checksumOf(text.slice(0, end))
}

/** The characters kept for people to recognise a token by. */
export function tokenPrefix(token: string): string {
  return token.slice(TOKEN_START.length, TOKEN_START.length + PREFIX_LENGTH)
}

function checksumOf(text: string): string {
  let rest = crc32(text)
  let digits = ''
  for (let digit = 0; digit < CHECKSUM_LENGTH; digit += 1) {
    digits = BASE62.charAt(rest % 62) + digits
    rest = Math.floor(rest / 62)
  }
  return digits
}

// CRC-32 (IEEE) of every half byte.
const CRC_OF_HALF_BYTE = [
  0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320,
  0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
] as const

/** Written out, because the core uses nothing of Node. Only for ASCII. */
function crc32(text: string): number {
  let crc = ~0
  for (let index = 0; index < text.length; index += 1) {
    crc ^= text.charCodeAt(index)
    crc = (crc >>> 4) ^ (CRC_OF_HALF_BYTE[crc & 15] ?? 0)
    crc = (crc >>> 4) ^ (CRC_OF_HALF_BYTE[crc & 15] ?? 0)
  }
  return ~crc >>> 0
}
