import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

interface Place {
  toString(): string
}

const PLACE = /(file:\/\/\S+\.js):(\d+):(\d+)/

/**
 * Has stack traces name the lines of the sources when `dist/` runs. Node's own way (--enable-source-maps) reads
 * all maps at every start, which takes a short command half as long again; here a map is read when a trace needs it.
 */
export function nameSourceLines(): void {
  Error.prepareStackTrace = (error, sites) =>
    [headOf(error), ...sites.map((site: Place) => `    at ${toSourceLine(site.toString())}`)].join('\n')
}

/** As Node writes it: Node's own errors with their `ERR_` code. */
function headOf(error: Error & { readonly code?: unknown }): string {
  const { code } = error
  const head = Error.prototype.toString.call(error)
  return typeof code === 'string' && code.startsWith('ERR_') ? head.replace(/^\w*/, `$& [${code}]`) : head
}

/** One line of a stack trace. As it was, when there is no map for it. */
export function toSourceLine(line: string): string {
  const [place, url, row, column] = PLACE.exec(line) ?? []
  if (place === undefined || url === undefined) return line
  const found = mapOf(url)?.findEntry(Number(row) - 1, Number(column) - 1)
  if (!found || !('originalSource' in found)) return line
  return line.replace(place, `${found.originalSource}:${found.originalLine + 1}:${found.originalColumn + 1}`)
}

const maps = new Map<string, SourceMap | null>()

function mapOf(url: string): SourceMap | null {
  let map = maps.get(url)
  if (map === undefined) {
    map = readMap(url)
    maps.set(url, map)
  }
  return map
}

function readMap(url: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(url)}.map`, 'utf8')) as SourceMapPayload)
  } catch {
    // The sources themselves have none, nor has code without a file.
    return null
  }
}
