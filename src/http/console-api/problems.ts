import type { ConsoleProblem } from '../../contract/console/shapes.ts'
import type { Refusal } from '../../core/refusals.ts'
import { type Problem, problem } from '../server/problem.ts'
import { consoleStatusOf } from '../server/refusal-replies.ts'

export interface ConsoleReply {
  readonly status: number
  readonly body: ConsoleProblem
}

/** The answer to a refusal: its code, one sentence, and the fields of the form that it is about. */
export function problemReply(problems: readonly Problem[], requestId: string): ConsoleReply {
  const [first = problem('internal_error')] = problems
  const fields = problems.flatMap(({ field, message }) => (field === null ? [] : [{ field, message }]))
  const { code, message } = fields.length > 1 ? problem('input_invalid') : first
  return { status: consoleStatusOf(code), body: { error: { code, message, fields, requestId } } }
}

export function refusalReply({ code, field, message }: Refusal, requestId: string): ConsoleReply {
  return problemReply([{ code, field, message }], requestId)
}

/** The fault's own words may name tables, paths or numbers: they go to the log, and never leave. */
export function faultReply(requestId: string): ConsoleReply {
  const message = `Something went wrong on our side. Try again; if it stays so, ask the operator to look for ${requestId} in the log.`
  return problemReply([problem('internal_error', null, message)], requestId)
}
