import { type ConsoleRoute, maxBodyBytes } from '../../src/contract/console/route.ts'
import { CONSOLE_ROUTES } from '../../src/contract/console/routes.ts'
import { MAX_BODY_BYTES } from '../../src/http/server/http-limits.ts'
import { WORST_JSON } from '../../test/support/worst-json.ts'
import type { Bench, Instant } from '../bench.ts'
import { ConsoleWatcher } from '../console-watcher.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { MadeData } from '../made-data.ts'
import { SEND_PATH } from '../send-request.ts'

const PART = 'bodies'
const MOST_HOLD_MS = 20
// The cost of a body is in every try; disturbances of the machine are only in some.
const TRIES = 3
const QUICK_TRIES = 1
// A body that these routes accept would end the session that the others need.
const ENDING_SESSIONS = ['/sign-out', '/me/sessions/end-others']

interface Target {
  readonly name: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly maxBytes: number
}

interface Hold {
  readonly name: string
  readonly ms: number
}

/** How long one request can block the service: each route with each body that is expensive to read. */
export async function measureBodies(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const data = await bench.data({ engine, connections: 1, channel: 'sandbox', state: 'paused' })
  const service = await bench.instant(data)
  const { cookie } = await ConsoleWatcher.signIn(data, bench.newFolder(), service.port)
  const targets = targetsOf(data, service, cookie)
  // Not counted: code is compiled when it runs for the first time.
  for (const target of targets) await holdOf(service, { ...target, body: '[' }, 1)
  await service.child.ask('watchLoop', null)
  const holds: Hold[] = []
  for (const target of targets) {
    for (const [what, piece, before = '', behind = ''] of WORST_JSON) {
      const room = target.maxBytes - Buffer.byteLength(before + behind)
      const body = before + piece.repeat(Math.floor(room / Buffer.byteLength(piece))) + behind
      const ms = await holdOf(service, { ...target, body }, bench.options.isQuick ? QUICK_TRIES : TRIES)
      holds.push({ name: `${target.name}: ${what}`, ms })
    }
  }
  await bench.end(service.child)
  await bench.forget(data)
  const worst = holds.toSorted((a, b) => b.ms - a.ms)
  const note = worst.slice(0, 3).map(({ name, ms }) => `${name} ${formatNumber(ms)} ms`)
  return [
    {
      part: PART,
      name: 'longest that one body keeps others waiting',
      value: worst[0]?.ms ?? Number.NaN,
      unit: 'ms',
      reach: { atMost: MOST_HOLD_MS },
      rounds: [],
      note: `${targets.length} routes with ${WORST_JSON.length} bodies of the largest size; ${note.join(', ')}`,
    },
  ]
}

function targetsOf(data: MadeData, { port }: Instant, cookie: string): Target[] {
  const origin = `http://127.0.0.1:${port}`
  const json = { 'content-type': 'application/json' }
  const routes: readonly ConsoleRoute[] = Object.values(CONSOLE_ROUTES)
  return [
    {
      name: 'send',
      method: 'POST',
      url: origin + SEND_PATH,
      headers: { ...json, 'x-api-key': data.token },
      maxBytes: MAX_BODY_BYTES,
    },
    ...routes
      .filter(({ method, path }) => method !== 'GET' && !ENDING_SESSIONS.includes(path))
      .map(({ method, path, access }) => ({
        name: `${method} ${path}`,
        method,
        url: `${origin}/console/api${path.replace(':account', data.accountId).replaceAll(/:\w+/g, '1')}`,
        headers: { ...json, origin, cookie },
        maxBytes: maxBodyBytes(access),
      })),
  ]
}

/** The shortest of the longest blocks, over this many tries. */
async function holdOf(
  { child }: Instant,
  { method, url, headers, body }: Target & { readonly body: string },
  tries: number,
): Promise<number> {
  const holds: number[] = []
  for (let tried = 0; tried < tries; tried += 1) {
    await child.ask('takeLongestHoldMs', null)
    const reply = await fetch(url, { method, headers, body })
    await reply.arrayBuffer()
    holds.push(await child.ask('takeLongestHoldMs', null))
  }
  return Math.min(...holds)
}
