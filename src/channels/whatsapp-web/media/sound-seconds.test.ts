import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { readSoundSeconds } from './sound-seconds.ts'

// MPEG 1, layer 3, 128 kbit/s, 44.1 kHz, two channels.
const FRAME = Buffer.from([0xff, 0xfb, 0x90, 0x00])
// The same with one channel, and MPEG 2 with 64 kbit/s at 22.05 kHz.
const MONO = Buffer.from([0xff, 0xfb, 0x90, 0xc0])
const LOW = Buffer.from([0xff, 0xf3, 0x80, 0x00])

describe('the length of a sound', () => {
  it.each([
    ['MP3 with one bit rate', file(FRAME, { sizeBytes: 160_000 }), 10],
    ['MP3 after a title', file(Buffer.concat([id3(300), FRAME]), { sizeBytes: 160_310 }), 10],
    ['MP3 of a low quality', file(LOW, { sizeBytes: 80_000 }), 10],
    // 1000 frames of 1152 samples.
    ['MP3 that counts its frames', file(xing(FRAME, 32, 1000), { sizeBytes: 1 }), 26],
    ['MP3 with one channel that counts its frames', file(xing(MONO, 17, 1000), { sizeBytes: 1 }), 26],
    ['MP3 of a low quality that counts its frames', file(xing(LOW, 17, 1000), { sizeBytes: 1 }), 26],
    [
      'Opus in Ogg',
      ogg(Buffer.concat([Buffer.from('OpusHead'), Buffer.from([1, 1, 0x38, 0x01])]), 48_000 * 7 + 312),
      7,
    ],
    ['Vorbis in Ogg', ogg(Buffer.from('\u0001vorbis\0\0\0\0\u0002\x44\xac\0\0', 'latin1'), 44_100 * 5), 5],
    ['sound of less than a second', file(FRAME, { sizeBytes: 100 }), 1],
  ])('is read from an %s', (_, sound, seconds) => {
    assert.equal(readSoundSeconds(sound), seconds)
  })

  it.each([
    ['another kind of file', file(Buffer.from('RIFF....WAVE'), { sizeBytes: 1000 })],
    ['an MP3 without a bit rate', file(Buffer.from([0xff, 0xfb, 0x00, 0x00]), { sizeBytes: 1000 })],
    ['layer 2', file(Buffer.from([0xff, 0xfd, 0x90, 0x00]), { sizeBytes: 1000 })],
    ['an Ogg with something else', ogg(Buffer.from('Speex   '), 48_000)],
    ['an Ogg whose end says nothing', ogg(Buffer.from('OpusHead\u0001\u0001\0\0'), -1)],
    ['nothing', file(Buffer.alloc(0), { sizeBytes: 0 })],
    ['a header that is cut', file(FRAME.subarray(0, 3), { sizeBytes: 1000 })],
    ['a title that is longer than what was read', file(id3(100_000), { sizeBytes: 1_000_000 })],
  ])('is not known for %s', (_, sound) => {
    assert.equal(readSoundSeconds(sound), null)
  })
})

function file(start: Buffer, { sizeBytes }: { sizeBytes: number }) {
  return { head: start, tail: start, sizeBytes }
}

function id3(bytes: number): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 0x7f)
  return Buffer.concat([Buffer.from('ID3'), Buffer.from([4, 0, 0, ...size]), Buffer.alloc(Math.min(bytes, 1000))])
}

function xing(frame: Buffer, sideBytes: number, frames: number): Buffer {
  const count = Buffer.alloc(8)
  count.writeUInt32BE(1, 0)
  count.writeUInt32BE(frames, 4)
  return Buffer.concat([frame, Buffer.alloc(sideBytes), Buffer.from('Xing'), count])
}

function ogg(content: Buffer, samples: number) {
  const page = (granule: number) => {
    const head = Buffer.alloc(28)
    head.write('OggS')
    head.writeBigInt64LE(BigInt(granule), 6)
    return head
  }
  const bytes = Buffer.concat([page(0), content, page(20), Buffer.alloc(50), page(samples), Buffer.alloc(50)])
  return { head: bytes.subarray(0, 60), tail: bytes.subarray(60), sizeBytes: bytes.length }
}
