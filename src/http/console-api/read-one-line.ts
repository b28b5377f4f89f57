import { findOneLineFault, type OneLineRule } from '../../contract/one-line.ts'
import { Refusal } from '../../core/refusals.ts'

/** For a form whose other fields only the service can check: `readParts` reports its fault together with theirs. */
export function readOneLine(text: string, rule: OneLineRule, field: string): string {
  const fault = findOneLineFault(text, rule)
  if (fault !== null) throw new Refusal('argument_invalid', fault, field)
  return text
}
