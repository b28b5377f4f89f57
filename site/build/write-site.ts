import { createHash } from 'node:crypto'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { brotliCompressSync, constants } from 'node:zlib'
import { relativeTo } from '../../src/http/server/public-path.ts'
import type { Site } from './make-site.ts'

// Pictures are compressed already, except SVG.
const COMPRESSIBLE = /^text\/|json|svg/
// Compression gains nothing below the size of a packet.
const WORTH_IT_BYTES = 1_024

/** Writes the files, compressed copies beside them, and the list of addresses for `src/http/docs`. */
export function writeSite(site: Site, folder: string): void {
  rmSync(folder, { recursive: true, force: true })
  const addresses = [...site.files].map(([address, { body: made, type }]) => {
    const file = fileOf(address, type)
    // The page for unknown addresses has no fixed address: the service makes its links relative for each request.
    const isNotFound = address === site.notFound
    const isPage = type.startsWith('text/html')
    const body = isPage && !isNotFound ? Buffer.from(relativeTo(address, made.toString())) : made
    mkdirSync(dirname(join(folder, file)), { recursive: true })
    writeFileSync(join(folder, file), body)
    const isCompressed = !isNotFound && COMPRESSIBLE.test(type) && body.length >= WORTH_IT_BYTES
    if (isCompressed) {
      const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
      writeFileSync(join(folder, `${file}.br`), brotliCompressSync(body, { params }))
    }
    const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22)
    return [address, { file, type, hash, isCompressed }] as const
  })
  const files: Record<string, unknown> = Object.fromEntries(addresses)
  const list = { notFound: site.notFound, files }
  writeFileSync(join(folder, 'site.json'), JSON.stringify(list, null, 1))
}

/** `/docs/guides/tokens` → `guides/tokens.html`. */
function fileOf(address: string, type: string): string {
  const path = address.replace(/^\/docs\//, '')
  if (!type.startsWith('text/html')) return path
  return path === '' ? 'home.html' : `${path}.html`
}
