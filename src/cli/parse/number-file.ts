import { checkNumber } from '../../contract/field-rules.ts'
import { Refusal } from '../../core/refusals.ts'

/**
 * One number in a line, or the first column of a CSV. Empty lines are left out, and so is a first line without any digit:
 * it names the columns. All or nothing: half a list is worse than none.
 */
export function parseNumberFile(text: string, where: string): readonly string[] {
  const numbers: string[] = []
  const lines = text.split(/\r?\n/)
  for (const [index, line] of lines.entries()) {
    const first = firstColumn(line)
    if (first === '' || (index === 0 && !/\d/.test(first))) continue
    const finding = checkNumber(first)
    if (finding)
      throw new Refusal('number_malformed', `Line ${index + 1} of ${where}: ${finding.message} Nothing was changed.`)
    numbers.push(first)
  }
  return numbers
}

function firstColumn(line: string): string {
  const [, quoted, plain] = /^\s*(?:"((?:[^"]|"")*)"|([^,;\t]*))/.exec(line) ?? []
  return (quoted?.replaceAll('""', '"') ?? plain ?? '').trim()
}
