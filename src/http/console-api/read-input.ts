import type { FastifyRequest } from 'fastify'
import type { ConsoleRoute } from '../../contract/console/route.ts'
import { type Problem, problem } from '../server/problem.ts'
import { parseStrictJson } from '../server/strict-json.ts'

interface ReadInput {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
}

type InputReading =
  | { readonly ok: true; readonly input: ReadInput }
  | { readonly ok: false; readonly problems: readonly Problem[] }

/** Parses path, query and body of a request, and reports all problems together. */
export function readInput(route: ConsoleRoute, request: FastifyRequest): InputReading {
  const json = readJson(request.body)
  if (!json.ok) return json
  const unfit = findNul(request.params) ?? findNul(request.query)
  if (unfit !== null) return { ok: false, problems: [problem('input_invalid', unfit, 'This holds a null character.')] }
  const parts = {
    params: route.params.safeParse(request.params),
    query: route.query.safeParse(request.query),
    body: route.body.safeParse(json.value),
  }
  const problems = Object.values(parts).flatMap(({ error }) => error?.issues.map(toProblem) ?? [])
  if (problems.length > 0) return { ok: false, problems }
  return { ok: true, input: { params: parts.params.data, query: parts.query.data, body: parts.body.data } }
}

type JsonReading = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: Problem[] }

/** A request without a body is the same as one with an empty object. */
function readJson(body: unknown): JsonReading {
  if (!Buffer.isBuffer(body) || body.length === 0) return { ok: true, value: {} }
  const json = parseStrictJson(body)
  return json.ok ? json : { ok: false, problems: [problem(json.code, json.field, json.detail)] }
}

function toProblem({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): Problem {
  return problem('input_invalid', path.length > 0 ? path.map(String).join('.') : null, message)
}

/** PostgreSQL fails on U+0000. In a body parsing refuses it; in an address it is found here. */
function findNul(given: unknown): string | null {
  const found = Object.entries(given ?? {}).find(([, value]) =>
    [value].flat().some((one) => String(one).includes('\0')),
  )
  return found?.[0] ?? null
}
