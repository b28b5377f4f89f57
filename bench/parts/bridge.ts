import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { BRIDGE } from '../../src/channels/bridge/name.ts'
import { keyOf, sign } from '../../src/channels/bridge/signing.ts'
import { openDatabase } from '../../src/storage/sqlite/connection/open-database.ts'
import { ADAPTER_SECRET, HANGING_PATH, INSTANT_PATH } from '../adapter-address.ts'
import type { Bench } from '../bench.ts'
import { Child } from '../child.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { AdapterCalls } from '../instant-adapter.ts'
import type { MadeData } from '../made-data.ts'
import { ask } from '../postgres-for-bench.ts'
import { preload } from '../preload.ts'
import { SEND_PATH, sendBody } from '../send-request.ts'
import { median } from '../statistics.ts'

const PART = 'bridge'
// Enough that the one lane is never empty.
const MOST_PER_SECOND = 6_000
const MESSAGES_TO_WARM_UP = 2_000
const HUNG_WITHIN_MS = 60_000

interface Adapter {
  readonly child: Child<AdapterCalls>
  readonly port: number
}

interface Turn {
  /** Signed calls one after another, without Nuncio. */
  readonly bare: number
  readonly alone: number
  readonly besideHanging: number
  /** The time from when the adapter listens again until the first attempt reaches it. */
  readonly backMs: number
}

/** One connection with an adapter that accepts everything at once: alone, and beside many whose adapter never answers. */
export async function measureBridge(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const lanes = bench.options.isQuick ? 20 : 1_000
  const child = bench.keep(new Child<AdapterCalls>('./instant-adapter.ts'))
  const adapter = { child, port: await child.ask('listen', { port: 0 }) }
  const turns: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const turn = await takeTurn(bench, engine, { adapter, lanes })
    bench.options.print(
      `  round ${round}: bare ${formatNumber(turn.bare)}/s, one lane ${formatNumber(turn.alone)}/s, ` +
        `beside ${lanes} that hang ${formatNumber(turn.besideHanging)}/s, back after ${formatNumber(turn.backMs)} ms`,
    )
    turns.push(turn)
  }
  await bench.end(child)
  return figuresOf(turns, lanes)
}

async function takeTurn(
  bench: Bench,
  engine: EngineName,
  { adapter, lanes }: { readonly adapter: Adapter; readonly lanes: number },
): Promise<Turn> {
  const bare = await bareRate(bench, adapter)
  const data = await bench.data({ engine, connections: lanes + 1, channel: 'instant', state: 'paused' })
  const [first] = data.connections
  if (!first) throw new Error('There is no connection')
  const one: MadeData = { ...data, connections: [first] }
  const seconds = (bench.options.seconds + bench.warmUpSeconds) * 2 + 10
  await preload(one, { waiting: Math.ceil(MOST_PER_SECOND * seconds), settled: 0 })
  const origin = `http://127.0.0.1:${adapter.port}`
  await connect(data, `id <> '${first.id}'`, { url: origin + HANGING_PATH, state: 'active' })
  await connect(data, `id = '${first.id}'`, { url: origin + INSTANT_PATH, state: 'active' })
  const service = await bench.service(data, { environment: { NUNCIO_BRIDGE_ORIGINS: origin } })
  await service.start()
  const alone = await rateOf(bench, adapter)
  const backMs = await measureComingBack(bench, adapter)
  await hangAll(data, adapter, service.settings.port)
  const besideHanging = await rateOf(bench, adapter)
  await bench.end(service)
  await bench.forget(data)
  return { bare, alone, besideHanging, backMs }
}

/** Sends one text from each hanging connection. Resolves once all of them wait for their adapter. */
async function hangAll({ numbers, token }: MadeData, { child }: Adapter, port: number): Promise<void> {
  const { hanging: before } = await child.ask('progress', null)
  const hanging = numbers.slice(1)
  for (const from of hanging) {
    const headers = { 'x-api-key': token, 'content-type': 'application/json' }
    const url = `http://127.0.0.1:${port}${SEND_PATH}`
    const reply = await fetch(url, { method: 'POST', headers, body: sendBody({ from }) })
    if (reply.status !== 200) throw new Error(`A text was answered with ${reply.status}`)
  }
  const endMs = performance.now() + HUNG_WITHIN_MS
  while ((await child.ask('progress', null)).hanging - before < hanging.length) {
    if (performance.now() > endMs) throw new Error('Not all of the other connections called their adapter')
    await pause(50)
  }
}

async function rateOf(bench: Bench, { child }: Adapter): Promise<number> {
  const { taken: first } = await child.ask('progress', null)
  const wanted = bench.options.isQuick ? 1 : MESSAGES_TO_WARM_UP
  while ((await child.ask('progress', null)).taken - first < wanted) await pause(10)
  await bench.warmUp()
  const before = await child.ask('progress', null)
  await pause(bench.options.seconds * 1_000)
  const after = await child.ask('progress', null)
  return ((after.taken - before.taken) / (after.atMs - before.atMs)) * 1_000
}

/** The adapter ends and starts again while messages wait for it. */
async function measureComingBack(bench: Bench, { child, port }: Adapter): Promise<number> {
  await child.ask('close', null)
  // Long enough that the pauses between polls reach their maximum.
  await pause(bench.options.isQuick ? 1_500 : 15_000)
  return child.ask('reopen', { port })
}

/** The rate of one lane if Nuncio cost nothing: it signs, sends a request, reads the answer, and repeats. */
async function bareRate(bench: Bench, { port }: Adapter): Promise<number> {
  const keys = [keyOf(ADAPTER_SECRET) ?? Buffer.alloc(0)]
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const call = () =>
    new Promise<void>((resolve, reject) => {
      const attemptId = `${randomUUID()}_1`
      const body = JSON.stringify({ type: 'attempt', attemptId, content: { type: 'message', text: 'x'.repeat(200) } })
      const signed = sign(keys, { id: `att_${attemptId}`, timestamp: Math.floor(Date.now() / 1_000), content: body })
      const headers = { ...signed, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const path = `${INSTANT_PATH}/v1/attempts`
      request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
        response.resume().on('end', resolve)
      })
        .on('error', reject)
        .end(body)
    })
  const startedMs = performance.now()
  let [calls, countedFromMs] = [0, startedMs + bench.warmUpSeconds * 1_000]
  for (;;) {
    await call()
    const nowMs = performance.now()
    if (nowMs < countedFromMs) continue
    if (calls === 0) countedFromMs = nowMs
    calls += 1
    if (nowMs - countedFromMs >= bench.options.seconds * 1_000) {
      agent.destroy()
      return ((calls - 1) / (nowMs - countedFromMs)) * 1_000
    }
  }
}

/** Moves these connections to an adapter. */
async function connect(
  { engine, database }: MadeData,
  which: string,
  { url, state }: { readonly url: string; readonly state: 'active' | 'paused' },
): Promise<void> {
  const settings = JSON.stringify({ url, secret: ADAPTER_SECRET })
  const sql = `update connection set channel = '${BRIDGE}', state = '${state}', channel_settings = '${settings}' where ${which}`
  if (engine === 'postgres') return void (await ask(database, sql))
  const file = openDatabase(database, { create: false })
  file.exec(sql)
  file.close()
}

function figuresOf(turns: readonly Turn[], lanes: number): Figure[] {
  const figure = (name: string, of: (turn: Turn) => number, more: Pick<Figure, 'unit' | 'reach' | 'note'>): Figure => {
    const rounds = turns.map(of)
    return { part: PART, name, value: median(rounds), rounds, ...more }
  }
  const rates = (key: 'bare' | 'alone' | 'besideHanging') => formatNumber(median(turns.map((turn) => turn[key])))
  return [
    figure('bridge, 1 lane', ({ alone }) => alone, {
      ...{ unit: '/s', reach: { atLeast: 800 } },
      note: 'an adapter that takes everything at once and keeps nothing',
    }),
    figure('bridge, 1 lane / bare signed calls one by one', ({ alone, bare }) => alone / bare, {
      ...{ unit: '', reach: null },
      note: `${rates('alone')}/s and ${rates('bare')}/s`,
    }),
    figure('bridge, 1 lane beside hanging adapters / alone', ({ besideHanging, alone }) => besideHanging / alone, {
      ...{ unit: '', reach: { atLeast: 0.9 } },
      note: `${lanes.toLocaleString('en')} other connections wait for an adapter that never answers; ${rates('besideHanging')}/s and ${rates('alone')}/s`,
    }),
    figure('bridge, adapter back → first attempt', ({ backMs }) => backMs / 1_000, {
      ...{ unit: 's', reach: { atMost: 6 } },
      note: 'after a quarter of a minute without an adapter',
    }),
  ]
}
