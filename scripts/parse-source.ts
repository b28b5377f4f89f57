import { type ParseResult, parseSync } from 'vite'

/** The syntax tree of one file. It comes from the bundler's parser, because TypeScript 7 has no interface for it. */
export function parseSource(file: string, text: string): ParseResult {
  const parsed = parseSync(file, text)
  const [fault] = parsed.errors
  if (fault) throw new SyntaxError(`${file} cannot be read: ${fault.message}`)
  return parsed
}

export function lineAt(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length
}
