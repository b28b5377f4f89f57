import type { FoundType } from './found-type.ts'
import { sniffAudioFrames } from './sniff-audio-frames.ts'
import { sniffContainer } from './sniff-containers.ts'

/** How much of a file is examined. An office document names its parts within this. */
export const HEAD_BYTES = 8 * 1024

/** Files that begin with bytes of their own. `null` stands for any byte. */
const SIGNATURES: readonly (readonly [bytes: readonly (number | null)[], mime: string, words: string])[] = [
  [[0xff, 0xd8, 0xff], 'image/jpeg', 'a JPEG image'],
  [[0x89, ...ascii('PNG\r\n'), 0x1a, 0x0a], 'image/png', 'a PNG image'],
  [ascii('GIF87a'), 'image/gif', 'a GIF image'],
  [ascii('GIF89a'), 'image/gif', 'a GIF image'],
  [[...ascii('II'), 0x2a, 0x00], 'image/tiff', 'a TIFF image'],
  [[...ascii('MM'), 0x00, 0x2a], 'image/tiff', 'a TIFF image'],
  [[...ascii('BM'), null, null, null, null, 0, 0, 0, 0], 'image/bmp', 'a BMP image'],
  [[0x00, 0x00, 0x01, 0x00], 'image/x-icon', 'an icon'],
  [ascii('8BPS'), 'image/vnd.adobe.photoshop', 'a Photoshop image'],
  [[0xff, 0x0a], 'image/jxl', 'a JPEG XL image'],
  [[0, 0, 0, 0x0c, ...ascii('JXL ')], 'image/jxl', 'a JPEG XL image'],
  [ascii('#!AMR\n'), 'audio/amr', 'an AMR recording'],
  [ascii('#!AMR-WB\n'), 'audio/amr-wb', 'an AMR recording'],
  [ascii('ID3'), 'audio/mpeg', 'an MP3 recording'],
  [ascii('fLaC'), 'audio/flac', 'a FLAC recording'],
  [ascii('MThd'), 'audio/midi', 'a MIDI file'],
  [[...ascii('FORM'), null, null, null, null, ...ascii('AIF')], 'audio/aiff', 'an AIFF recording'],
  [ascii('FLV'), 'video/x-flv', 'a Flash video'],
  [[0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11], 'video/x-ms-asf', 'a Windows Media file'],
  [[0x00, 0x00, 0x01, 0xba], 'video/mpeg', 'an MPEG video'],
  [ascii('%PDF-'), 'application/pdf', 'a PDF document'],
  [ascii('{\\rtf'), 'application/rtf', 'an RTF document'],
  [ascii('%!PS'), 'application/postscript', 'a PostScript document'],
  [[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1], 'application/x-cfb', 'an old Office document'],
  [[0x1f, 0x8b, 0x08], 'application/gzip', 'a gzip archive'],
  [ascii('BZh'), 'application/x-bzip2', 'a bzip2 archive'],
  [[0xfd, ...ascii('7zXZ'), 0x00], 'application/x-xz', 'an xz archive'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'application/zstd', 'a Zstandard archive'],
  [[...ascii('7z'), 0xbc, 0xaf, 0x27, 0x1c], 'application/x-7z-compressed', 'a 7-Zip archive'],
  [[...ascii('Rar!'), 0x1a, 0x07], 'application/vnd.rar', 'a RAR archive'],
  [[0x7f, ...ascii('ELF')], 'application/x-elf', 'a program'],
  [[...ascii('MZ')], 'application/x-msdownload', 'a program'],
]

/**
 * Detects the format of a file by its first bytes, never by its name or by headers. Never fails: an unknown format is
 * `application/octet-stream`. Pure. It unpacks and decodes nothing, so a small picture of a billion pixels or a zip bomb
 * does no harm here.
 */
export function sniffType(head: Uint8Array): FoundType {
  return (
    sniffSignature(head) ??
    sniffContainer(head) ??
    sniffAudioFrames(head) ??
    sniffText(head) ?? { mime: 'application/octet-stream', words: 'of a kind that is not recognised' }
  )
}

function sniffSignature(head: Uint8Array): FoundType | null {
  const found = SIGNATURES.find(([bytes]) =>
    bytes.every((byte, index) => (byte === null ? index < head.length : head[index] === byte)),
  )
  return found ? { mime: found[1], words: found[2] } : null
}

function ascii(text: string): readonly number[] {
  return [...Buffer.from(text, 'latin1')]
}

/** Recognises text, and the pages that hosts send in place of a file. Null when it is not text. */
function sniffText(head: Uint8Array): FoundType | null {
  const text = decode(head)
  if (text === null) return null
  const start = text.trimStart().slice(0, 1000).toLowerCase()
  if (!start.startsWith('<')) return { mime: 'text/plain', words: 'plain text' }
  if (/<(!doctype html|html|head|body|script|title)\b/.test(start)) return { mime: 'text/html', words: 'an HTML page' }
  if (/<svg[\s>]/.test(start)) return { mime: 'image/svg+xml', words: 'an SVG image' }
  if (start.startsWith('<?xml')) return { mime: 'application/xml', words: 'an XML document' }
  return { mime: 'text/plain', words: 'plain text' }
}

function decode(head: Uint8Array): string | null {
  if (head.length === 0) return null
  const bom = ((head[0] ?? 0) << 8) | (head[1] ?? 0)
  const encoding = bom === 0xfffe ? 'utf-16le' : bom === 0xfeff ? 'utf-16be' : 'utf-8'
  try {
    // As a stream, because the head may end in the middle of a character.
    const text = new TextDecoder(encoding, { fatal: true }).decode(head, { stream: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what has these is no text
    return /[\u0000-\u0008\u000e-\u001a\u001c-\u001f]/.test(text) ? null : text
  } catch {
    return null
  }
}
