import type { ConsoleProblem } from '../../contract/console/shapes.ts'
import type { Refusal } from '../../core/refusals.ts'
import { type Problem, problem } from '../server/problem.ts'
import { consoleStatusOf } from '../server/refusal-replies.ts'

export interface ConsoleReply {
  readonly status: number
  readonly body: ConsoleProblem
}

/** The reply to a refusal: its code, one sentence, and the fields of the form that are wrong. */
export function problemReply(problems: readonly Problem[], requestId: string): ConsoleReply {
  const [first = problem('internal_error')] = problems
  const fields = problems.flatMap(({ field, message }) => (field === null ? [] : [{ field, message }]))
  const { code, message } = fields.length > 1 ? problem('input_invalid') : first
  return { status: consoleStatusOf(code), body: { error: { code, message, fields, requestId } } }
}

export function refusalReply({ code, field, message }: Refusal, requestId: string): ConsoleReply {
  return problemReply([{ code, field, message }], requestId)
}

/** The error's own message may name tables, paths or numbers, so it goes only to the log. */
export function faultReply(requestId: string): ConsoleReply {
  const message = `Something went wrong on our side. Try again. If it happens again, ask the operator to search the log for ${requestId}.`
  return problemReply([problem('internal_error', null, message)], requestId)
}
