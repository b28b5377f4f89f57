import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The text of files by their path from the project's root, with forward slashes on every system. */
export type Tree = ReadonlyMap<string, string>

export const ROOT = dirname(import.meta.dirname)

const NOT_OURS = ['**/node_modules', '**/dist']

export function readTree(...patterns: readonly string[]): Tree {
  const files = listPaths(...patterns)
  return new Map(files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]))
}

/** Files, and folders if the pattern includes them. */
export function listPaths(...patterns: readonly string[]): readonly string[] {
  const paths = globSync(patterns, { cwd: ROOT, exclude: NOT_OURS })
  return paths.map((path) => path.replaceAll('\\', '/')).sort()
}

export function isTest(file: string): boolean {
  return file.endsWith('.test.ts') || file.endsWith('.test.tsx')
}
