import type { Browser } from '@playwright/test'

export interface OfferedFile {
  readonly body: Buffer
  readonly type: string
}

const PICTURE = `<body style="margin:0;background:#f6e7d2;font:700 30px sans-serif;display:grid;place-items:center;height:100vh">
  <svg width="300" height="200" viewBox="0 0 300 200" fill="#b7793f"><ellipse cx="100" cy="110" rx="85" ry="52"/><ellipse
  cx="200" cy="90" rx="80" ry="48" fill="#cf9555"/><path d="M60 90q40-30 80 0M160 70q40-30 80 0" stroke="#7a4a1f"
  stroke-width="7" fill="none"/></svg></body>`
const INVOICE = '<h1>Corner Bakery</h1><p>Invoice 1042</p><p>Two loaves, six croissants: 17.40</p>'

const SAMPLES_PER_SECOND = 8_000
const SECONDS = 2
const HEADER_BYTES = 44

/** Makes a picture, a document and a sound on the spot, so that no file is taken from elsewhere. */
export async function makeFiles(browser: Browser): Promise<Readonly<Record<string, OfferedFile>>> {
  const page = await browser.newPage({ viewport: { width: 480, height: 320 } })
  await page.setContent(PICTURE)
  const picture = await page.screenshot()
  await page.setContent(INVOICE)
  const invoice = await page.pdf({ format: 'A5' })
  await page.close()
  return {
    'order-1042.png': { body: picture, type: 'image/png' },
    'invoice-1042.pdf': { body: invoice, type: 'application/pdf' },
    'hello.wav': { body: makeSound(), type: 'audio/wav' },
  }
}

/** Two seconds of a tone that fades, as WAV with one byte for each sample. */
function makeSound(): Buffer {
  const count = SAMPLES_PER_SECOND * SECONDS
  const file = Buffer.alloc(HEADER_BYTES + count)
  file.write('RIFF', 0)
  file.writeUInt32LE(HEADER_BYTES - 8 + count, 4)
  file.write('WAVEfmt ', 8)
  file.writeUInt32LE(16, 16)
  file.writeUInt16LE(1, 20)
  file.writeUInt16LE(1, 22)
  file.writeUInt32LE(SAMPLES_PER_SECOND, 24)
  file.writeUInt32LE(SAMPLES_PER_SECOND, 28)
  file.writeUInt16LE(1, 32)
  file.writeUInt16LE(8, 34)
  file.write('data', 36)
  file.writeUInt32LE(count, 40)
  for (let sample = 0; sample < count; sample += 1) {
    const fade = 1 - sample / count
    file[HEADER_BYTES + sample] =
      128 + Math.round(100 * fade * Math.sin((sample / SAMPLES_PER_SECOND) * 2 * Math.PI * 440))
  }
  return file
}
