import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MediaType } from '../core/message/message.ts'
import { checkHead } from './check-content.ts'
import { MediaProblem } from './media-problem.ts'
import { HEAD_BYTES, sniffType } from './sniff-type.ts'

function bytes(...parts: readonly (string | number | Uint8Array)[]): Buffer {
  return Buffer.concat(
    parts.map((part) =>
      typeof part === 'string' ? Buffer.from(part, 'latin1') : typeof part === 'number' ? Buffer.from([part]) : part,
    ),
  )
}

function ftyp(...brands: readonly string[]): Buffer {
  const [major = '', ...compatible] = brands
  const box = bytes('ftyp', major, '\0\0\0\0', ...compatible)
  return bytes(0, 0, 0, box.length + 4, box, '\0\0\0\x08free')
}

/** A run of frames whose headers say what follows; the content does not matter. */
function frames(header: readonly number[], length: number, count = 4): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => Buffer.concat([Buffer.from(header)], length)))
}

function zip(...entries: readonly (readonly [name: string, content?: string])[]): Buffer {
  return Buffer.concat(
    entries.map(([name, content = '']) => {
      const header = Buffer.alloc(30)
      header.write('PK\x03\x04', 'latin1')
      header.writeUInt16LE(name.length, 26)
      return bytes(header, name, content)
    }),
  )
}

function ebml(docType: string): Buffer {
  return bytes(
    '\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\x82',
    0x80 | docType.length,
    docType,
    '\x42\x87\x81\x04',
  )
}

const ogg = (packet: string) => bytes('OggS', Buffer.alloc(22), 1, 0x1e, packet)

const KNOWN: readonly (readonly [what: string, head: Buffer, mime: string, fits: MediaType | null])[] = [
  ['a JPEG', bytes('\xff\xd8\xff\xe0\0\x10JFIF\0'), 'image/jpeg', 'image'],
  ['a JPEG of a camera', bytes('\xff\xd8\xff\xe1\0\x18Exif\0'), 'image/jpeg', 'image'],
  ['a PNG', bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR'), 'image/png', 'image'],
  [
    'a PNG of 40,000 by 40,000 pixels',
    bytes('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x9c\x40\0\0\x9c\x40'),
    'image/png',
    'image',
  ],
  ['a WebP', bytes('RIFF\x24\0\0\0WEBPVP8 '), 'image/webp', 'image'],
  ['an old GIF', bytes('GIF87a\x01\0'), 'image/gif', 'image'],
  ['a GIF', bytes('GIF89a\x01\0'), 'image/gif', 'image'],
  ['an AVIF', ftyp('avif', 'mif1'), 'image/avif', null],
  ['an HEIC', ftyp('heic', 'mif1'), 'image/heic', null],
  ['an HEIC of another maker', ftyp('mif1', 'heic'), 'image/heic', null],
  ['a TIFF', bytes('II*\0\x08\0\0\0'), 'image/tiff', null],
  ['a BMP', bytes('BM\x36\0\0\0\0\0\0\0\x36\0'), 'image/bmp', null],
  ['an SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml', null],
  ['an SVG with a declaration', bytes('<?xml version="1.0"?>\n<svg width="1">'), 'image/svg+xml', null],
  ['an MP4', ftyp('isom', 'isom', 'iso2', 'avc1', 'mp41'), 'video/mp4', 'video'],
  ['an MP4 of the second version', ftyp('mp42', 'mp42', 'isom'), 'video/mp4', 'video'],
  ['an MP4 of a shop', ftyp('M4V ', 'mp42'), 'video/mp4', 'video'],
  ['an MP4 for streaming', ftyp('iso5', 'dash'), 'video/mp4', 'video'],
  ['a 3GPP video', ftyp('3gp5', '3gp5', 'isom'), 'video/3gpp', 'video'],
  ['a 3GPP2 video', ftyp('3g2a'), 'video/3gpp2', null],
  ['a QuickTime video', ftyp('qt  ', 'qt  '), 'video/quicktime', 'video'],
  ['an old QuickTime video', bytes('\0\0\0\x08wide\0\0\0\0mdat'), 'video/quicktime', 'video'],
  ['a WebM', ebml('webm'), 'video/webm', 'video'],
  ['a Matroska video', ebml('matroska'), 'video/x-matroska', null],
  ['an AVI', bytes('RIFF\x24\0\0\0AVI LIST'), 'video/x-msvideo', null],
  ['an Ogg video', ogg('\x80theora'), 'video/ogg', null],
  ['a Flash video', bytes('FLV\x01'), 'video/x-flv', null],
  ['an AAC', frames([0xff, 0xf1, 0x50, 0x80, 0x2e, 0x9f, 0xfc], 372), 'audio/aac', 'audio'],
  ['an AAC of MPEG-2', frames([0xff, 0xf9, 0x50, 0x80, 0x2e, 0x9f, 0xfc], 372), 'audio/aac', 'audio'],
  ['an AMR', bytes('#!AMR\n\x3c'), 'audio/amr', 'audio'],
  ['a wide-band AMR', bytes('#!AMR-WB\n\x3c'), 'audio/amr-wb', 'audio'],
  ['an MP3 with tags', bytes('ID3\x04\0\0\0\0\x0f\x76TSSE'), 'audio/mpeg', 'audio'],
  ['an MP3 of 128 kbit/s', frames([0xff, 0xfb, 0x90, 0x00], 417), 'audio/mpeg', 'audio'],
  ['an MP3 with padding', frames([0xff, 0xfb, 0x92, 0x00], 418), 'audio/mpeg', 'audio'],
  ['an MP3 of 16 kHz', frames([0xff, 0xf3, 0x48, 0x00], 144), 'audio/mpeg', 'audio'],
  ['an MP3 of 8 kHz', frames([0xff, 0xe3, 0x48, 0x00], 288), 'audio/mpeg', 'audio'],
  ['an MP3 of one long frame', frames([0xff, 0xfb, 0xe0, 0x00], 1044, 1), 'audio/mpeg', 'audio'],
  ['an M4A', ftyp('M4A ', 'M4A ', 'mp42', 'isom'), 'audio/mp4', 'audio'],
  ['an M4A that names its brand second', ftyp('mp42', 'M4A ', 'isom'), 'audio/mp4', 'audio'],
  ['an audio book', ftyp('M4B ', 'isom'), 'audio/mp4', 'audio'],
  ['an Ogg with Opus', ogg('OpusHead'), 'audio/ogg', 'audio'],
  ['an Ogg with Vorbis', ogg('\x01vorbis'), 'audio/ogg', 'audio'],
  ['a WAV', bytes('RIFF\x24\0\0\0WAVEfmt '), 'audio/wav', 'audio'],
  ['a FLAC', bytes('fLaC\0\0\0\x22'), 'audio/flac', null],
  ['a PDF', bytes('%PDF-1.7\n%\xe2\xe3'), 'application/pdf', null],
  [
    'a Word document',
    zip(['[Content_Types].xml', 'x'], ['_rels/.rels'], ['word/document.xml']),
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    null,
  ],
  [
    'an Excel workbook',
    zip(['[Content_Types].xml'], ['xl/workbook.xml']),
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    null,
  ],
  [
    'a PowerPoint presentation',
    zip(['ppt/presentation.xml']),
    'application/vnd.openxmlformats-officedocument.presentationml.presentation',
    null,
  ],
  [
    'an OpenDocument text',
    zip(['mimetype', 'application/vnd.oasis.opendocument.text'], ['content.xml']),
    'application/vnd.oasis.opendocument.text',
    null,
  ],
  ['an EPUB', zip(['mimetype', 'application/epub+zip']), 'application/epub+zip', null],
  ['a ZIP archive', zip(['a.txt', 'hello']), 'application/zip', null],
  ['a ZIP archive that claims a wild MIME type', zip(['mimetype', 'text/html<script>']), 'application/zip', null],
  ['an empty ZIP archive', bytes('PK\x05\x06', Buffer.alloc(18)), 'application/zip', null],
  ['an old Office document', bytes('\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'), 'application/x-cfb', null],
  ['a gzip archive', gzipSync('x'), 'application/gzip', null],
  ['a program', bytes('\x7fELF\x02\x01\x01'), 'application/x-elf', null],
  ['a program for Windows', bytes('MZ\x90\0\x03'), 'application/x-msdownload', null],
  ['an HTML page', bytes('<!DOCTYPE html><html><body>404'), 'text/html', null],
  ['an HTML page after white space and comments', bytes('\n <!-- x --> <!-- y --><html lang="en">'), 'text/html', null],
  ['an XML error', bytes('<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>'), 'application/xml', null],
  ['JSON', bytes('{"error":"not found"}'), 'text/plain', null],
  ['text', Buffer.from('Grüße, 世界\r\n'), 'text/plain', null],
  ['text with a mark', Buffer.from('\ufeffhello'), 'text/plain', null],
  ['text in UTF-16', Buffer.from('\ufeffhello', 'utf16le'), 'text/plain', null],
  [
    'text that the head cuts in the middle of a character',
    Buffer.from('é'.repeat(HEAD_BYTES)).subarray(0, HEAD_BYTES - 1),
    'text/plain',
    null,
  ],
  ['noise', bytes('\x93\x11\x00\xa7\x42\xee'), 'application/octet-stream', null],
  ['zeros', Buffer.alloc(100), 'application/octet-stream', null],
  ['a single byte', bytes(0xff), 'application/octet-stream', null],
  ['nothing', Buffer.alloc(0), 'application/octet-stream', null],
  [
    'the start of an MP3 frame and then noise',
    bytes('\xff\xfb\x90\x00', Buffer.alloc(2000, 7)),
    'application/octet-stream',
    null,
  ],
  [
    'the start of an AAC frame and then noise',
    bytes('\xff\xf1\x50\x80\x2e\x9f\xfc', Buffer.alloc(2000, 7)),
    'application/octet-stream',
    null,
  ],
  ['RIFF of an unknown kind', bytes('RIFF\x24\0\0\0XXXX', Buffer.alloc(9)), 'application/octet-stream', null],
]

describe('sniffType', () => {
  it.each(KNOWN)('knows %s', (_what, head, mime) => {
    expect(sniffType(head).mime).toBe(mime)
  })

  it('never fails, whatever the bytes', () => {
    const starts = KNOWN.map(([, head]) => head.subarray(0, 40))
    const spoilt = fc
      .tuple(fc.constantFrom(...starts), fc.uint8Array({ maxLength: 64 }), fc.nat(40))
      .map(([start, noise, at]) => {
        return Buffer.concat([start.subarray(0, at), noise, start.subarray(at)])
      })

    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), spoilt), (head) => {
        expect(sniffType(head).mime).toMatch(/^[a-z]+\/[a-z0-9.+-]+$/)
      }),
      { numRuns: 3000 },
    )
  })

  it('takes no longer over a page made of the beginnings of comments', () => {
    const head = Buffer.from('<!---->'.repeat(HEAD_BYTES).slice(0, HEAD_BYTES))
    const startedAtMs = performance.now()

    sniffType(head)

    // Not a benchmark: a search that backtracks would take longer than the universe has.
    expect(performance.now() - startedAtMs).toBeLessThan(1000)
  })
})

describe('checkHead', () => {
  const types: readonly MediaType[] = ['image', 'video', 'audio']

  it.each(KNOWN)('takes %s for its type and for a document, and for nothing else', (...known) => {
    const [, head, mime, fits] = known
    expect(checkHead('document', head)).toBe(mime)
    for (const type of types) {
      if (type === fits) expect(checkHead(type, head)).toBe(mime)
      // A plain MP4 may contain only sound: that takes the whole file.
      else if (type === 'audio' && mime === 'video/mp4') expect(checkHead(type, head)).toBeNull()
      else expect(() => checkHead(type, head)).toThrow(MediaProblem)
    }
  })

  it('names what was found and what is taken', () => {
    expect(() => checkHead('image', bytes('<!DOCTYPE html>'))).toThrow(
      'The file is an HTML page, but type image takes JPEG, PNG, WebP or GIF.',
    )
    expect(() => checkHead('audio', bytes('\x01\x02\x03'))).toThrow(
      'The file is of a kind that is not recognised, but type audio takes',
    )
  })
})
