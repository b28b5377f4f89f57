import type { Exchange } from '../exchange.ts'
import { type Problem, problem } from '../problem.ts'
import { isAmong, type SingleHeader } from '../repeated-headers.ts'

const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?$/i
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/
const NONE: readonly Problem[] = []

// With two of any of these it is not clear which one is meant. Two tokens are refused before, as no token.
const MEANT_ONCE: readonly SingleHeader[] = ['content-type', 'content-encoding', 'idempotency-key', 'authorization']

/** What is wrong with the headers that say how to read the request. */
export function judgeHeaders({ request, repeatedHeaders }: Exchange): readonly Problem[] {
  const {
    'content-type': contentType,
    'content-encoding': contentEncoding,
    'idempotency-key': idempotencyKey,
  } = request.headers
  const problems: Problem[] = []
  for (const name of repeatedHeaders === 0 ? [] : MEANT_ONCE) {
    if (isAmong(repeatedHeaders, name)) problems.push(problem('header_repeated', name))
  }
  if (contentType === undefined || !JSON_TYPE.test(contentType)) {
    problems.push(problem('content_type_unsupported', 'content-type'))
  }
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    problems.push(problem('content_encoding_unsupported', 'content-encoding'))
  }
  if (idempotencyKey !== undefined && parseIdempotencyKey(idempotencyKey) === null) {
    problems.push(problem('idempotency_key_malformed', 'idempotency-key'))
  }
  return problems.length === 0 ? NONE : problems
}

/** Null when there is none that can be used. */
export function parseIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && IDEMPOTENCY_KEY.test(header) ? header : null
}
