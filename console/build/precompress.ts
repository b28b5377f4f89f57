import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

// Pictures and fonts are compressed already. The page gets a new nonce each time it is sent.
const COMPRESSIBLE = '**/*.{js,css,svg,json}'
// Compression gains nothing below the size of a packet.
const WORTH_IT_BYTES = 1_024

/** Writes `.br` and `.gz` beside each file, so that the server never compresses while people wait. */
export function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    writeBundle({ dir = 'dist' }) {
      for (const file of globSync(COMPRESSIBLE, { cwd: dir })) {
        const bytes = readFileSync(join(dir, file))
        if (bytes.length < WORTH_IT_BYTES) continue
        // Level 9 of 11: the last two levels take five times as long for two per cent.
        const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
        writeFileSync(join(dir, `${file}.br`), brotliCompressSync(bytes, { params }))
        writeFileSync(join(dir, `${file}.gz`), gzipSync(bytes, { level: 9 }))
      }
    },
  }
}
