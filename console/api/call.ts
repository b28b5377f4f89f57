import { ROUTES } from 'virtual:console-routes'
import type { CallOf, ReplyOf } from '../../src/contract/console/route.ts'
import type { CONSOLE_ROUTES } from '../../src/contract/console/routes.ts'
import type { ConsoleProblem } from '../../src/contract/console/shapes.ts'
import { CONSOLE_PATH } from '../app/service-path.ts'
import { CallProblem } from './call-problem.ts'

const BASE = `${CONSOLE_PATH}/api`

type Routes = typeof CONSOLE_ROUTES
export type RouteName = keyof Routes
export type ReplyFor<Name extends RouteName> = ReplyOf<Routes[Name]>

/** `params`, `query` or `body` may be left out when none of its fields is required. */
type Part<Key extends string, Value> =
  Record<never, never> extends Value ? { readonly [key in Key]?: Value } : { readonly [key in Key]: Value }
export type InputFor<Name extends RouteName> = Part<'params', CallOf<Routes[Name]>['params']> &
  Part<'query', CallOf<Routes[Name]>['query']> &
  Part<'body', CallOf<Routes[Name]>['body']>

interface LooseInput {
  readonly params?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/** Calls a route of the contract. Throws a `CallProblem` whose message can be shown as it is. */
export async function call<Name extends RouteName>(
  name: Name,
  input: InputFor<Name>,
  signal?: AbortSignal,
): Promise<ReplyFor<Name>> {
  const { method } = routeOf(name)
  const { body } = input as LooseInput
  const response = await fetchOrExplain(addressOf(name, input), {
    method,
    credentials: 'same-origin',
    headers: { accept: 'application/json', ...(method === 'GET' ? {} : { 'content-type': 'application/json' }) },
    ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    ...(signal ? { signal } : {}),
  })
  if (!response.ok) throw await problemOf(response)
  return (await response.json()) as ReplyFor<Name>
}

/** The address of a call, for requests of the browser itself: files, pictures, streams. */
export function addressOf<Name extends RouteName>(name: Name, input: InputFor<Name>): string {
  const { params = {}, query = {} } = input as LooseInput
  const path = routeOf(name).path.replace(/:(\w+)/g, (_, key: string) => encodeURIComponent(textOf(params[key])))
  const search = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) {
    if (value === undefined || value === null || value === '') continue
    for (const single of Array.isArray(value) ? value : [value]) search.append(key, textOf(single))
  }
  const tail = search.size > 0 ? `?${search.toString()}` : ''
  return `${BASE}${path}${tail}`
}

/** Whether the route requires a session. */
export function needsSignIn(name: RouteName): boolean {
  return routeOf(name).access !== 'public'
}

function routeOf(name: string) {
  const route = ROUTES[name]
  if (!route) throw new Error(`The contract knows no route "${name}"`)
  return route
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

async function fetchOrExplain(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, request)
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new CallProblem({
      status: 0,
      code: 'unreachable',
      message: 'The server cannot be reached. Check your network, or whether the service is running, and try again.',
      cause: error,
    })
  }
}

async function problemOf(response: Response): Promise<CallProblem> {
  const requestId = response.headers.get('x-request-id')
  const body = (await response.json().catch(() => null)) as ConsoleProblem | null
  if (body?.error) return new CallProblem({ status: response.status, ...body.error })
  return new CallProblem({
    status: response.status,
    code: 'unexpected_reply',
    message: `The server answered with HTTP ${response.status}, and not in its usual form. A proxy in between may have refused the request.`,
    requestId,
  })
}
