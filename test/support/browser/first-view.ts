import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

interface Part {
  readonly file: string
  readonly imports?: readonly string[]
}

/** What the browser must load before it can show a page: the entry, the page, and all that they import. */
export function scriptsOf(dist: string, sources: readonly string[]): readonly string[] {
  const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8')) as Record<string, Part>
  const files = new Set<string>()
  const visit = (name: string) => {
    const part = manifest[name]
    if (!part) throw new Error(`The build knows no ${name}`)
    if (files.has(part.file)) return
    files.add(part.file)
    for (const next of part.imports ?? []) visit(next)
  }
  for (const source of sources) visit(source)
  return [...files].filter((file) => file.endsWith('.js'))
}

/** The bytes that are transferred: compressed where the build has compressed the file. */
export function wireBytes(dist: string, files: readonly string[]): number {
  const sizes = files.map((file) => {
    const compressed = join(dist, `${file}.br`)
    return statSync(existsSync(compressed) ? compressed : join(dist, file)).size
  })
  return sizes.reduce((sum, size) => sum + size, 0)
}
