import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const OWN = fileURLToPath(new URL('../../node_modules/.setup/bullmq', import.meta.url))

/**
 * Where BullMQ is installed. It is not a dependency, because npm cannot install it from every registry: the folder is named by
 * the caller, or filled by `npm run bench:peers`.
 */
export const BULLMQ_FOLDER = {
  own: OWN,
  missing: 'it is not installed: `npm run bench:peers` tries to, or NUNCIO_BENCH_BULLMQ names a folder where it is',
  find(): { readonly folder: string; readonly version: string } | null {
    const folder = process.env['NUNCIO_BENCH_BULLMQ'] ?? OWN
    const file = join(folder, 'node_modules', 'bullmq', 'package.json')
    if (!existsSync(file)) return null
    const { version } = JSON.parse(readFileSync(file, 'utf8')) as { readonly version: string }
    return { folder, version }
  },
} as const
