import type { RefusalResponseError } from '../../contract/replies.ts'
import { REFUSALS, type RefusalCode } from '../../core/refusals.ts'

/** One thing that is wrong with a request, as reported to the caller. */
export interface Problem extends RefusalResponseError {
  readonly code: RefusalCode
}

/** `field` is a path in the body or the name of a header; `detail` replaces the table's sentence. */
export function problem(code: RefusalCode, field: string | null = null, detail: string | null = null): Problem {
  return { field, code, message: detail ?? REFUSALS[code] }
}
