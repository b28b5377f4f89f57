import { type Problem, problem } from '../server/problem.ts'
import { isAmong, type SingleHeader } from '../server/repeated-headers.ts'
import { isJsonType, type RequestContext } from '../server/request-context.ts'

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/
const NONE: readonly Problem[] = []

// With two values it is unclear which one is meant. Two tokens are refused earlier, as if there were none.
const MEANT_ONCE: readonly SingleHeader[] = ['content-type', 'content-encoding', 'idempotency-key', 'authorization']

/** Problems of the headers that say how to read the request. */
export function checkHeaders({ request, repeatedHeaders }: RequestContext): readonly Problem[] {
  const {
    'content-type': contentType,
    'content-encoding': contentEncoding,
    'idempotency-key': idempotencyKey,
  } = request.headers
  const problems: Problem[] = []
  for (const name of repeatedHeaders === 0 ? [] : MEANT_ONCE) {
    if (isAmong(repeatedHeaders, name)) problems.push(problem('header_repeated', name))
  }
  if (!isJsonType(contentType)) {
    problems.push(problem('content_type_unsupported', 'content-type'))
  }
  if (contentEncoding !== undefined && !isPlain(contentEncoding)) {
    problems.push(problem('content_encoding_unsupported', 'content-encoding'))
  }
  if (idempotencyKey !== undefined && parseIdempotencyKey(idempotencyKey) === null) {
    problems.push(problem('idempotency_key_malformed', 'idempotency-key'))
  }
  return problems.length === 0 ? NONE : problems
}

/** Empty or `identity`: the body is not compressed. */
function isPlain(contentEncoding: string): boolean {
  return contentEncoding.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()))
}

/** Null when it is missing or invalid. */
export function parseIdempotencyKey(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && IDEMPOTENCY_KEY.test(header) ? header : null
}
