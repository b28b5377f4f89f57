import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import { afterAll } from 'vitest'
import { writeSite } from '../../../site/build/write-site.ts'

export const HTML = 'text/html; charset=utf-8'

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

/** A folder with these documents, by path, in the format of the site's build. Removed after the tests of the file. */
export function makeDocsFolder(bodies: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-docs-'))
  afterAll(() => rmSync(folder, { recursive: true }))
  const files = Object.entries(bodies).map(
    ([path, body]) => [path, { body: Buffer.from(body), type: TYPES[extname(path)] ?? HTML }] as const,
  )
  writeSite({ files: new Map(files), notFound: '/docs/404', problems: [] }, folder)
  return folder
}
