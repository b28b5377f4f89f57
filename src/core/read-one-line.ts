import { findOneLineFault, type OneLineRule } from '../format/one-line.ts'
import { Refusal } from './refusals.ts'

/** A name, a reason or a description without the blanks around it. A form passes the name of its field. */
export function readOneLine(text: string, rule: OneLineRule, field: string | null = null): string {
  const line = text.trim()
  const fault = findOneLineFault(line, rule)
  if (fault !== null) throw new Refusal('argument_invalid', fault, field)
  return line
}
