import type { MessageType } from '../../core/message/message.ts'

interface Sample {
  readonly type: MessageType
  readonly name: string
  readonly mime: string
  readonly file: Buffer
}

// A square of one red point.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'

/** Files small enough to stand here. A video is none of them. */
export const SAMPLES: readonly Sample[] = [
  { type: 'image', name: 'test.png', mime: 'image/png', file: Buffer.from(PNG, 'base64') },
  { type: 'document', name: 'test.txt', mime: 'text/plain', file: Buffer.from('This is a test of the adapter.\n') },
  { type: 'audio', name: 'test.wav', mime: 'audio/wav', file: silence() },
]

/** A tenth of a second: 8,000 times a second one byte. */
function silence(): Buffer {
  const samples = Buffer.alloc(800, 0x80)
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8)
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(8_000, 24)
  head.writeUInt32LE(8_000, 28)
  head.writeUInt16LE(1, 32)
  head.writeUInt16LE(8, 34)
  head.write('data', 36)
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}
