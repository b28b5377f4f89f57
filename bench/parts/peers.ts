import { setTimeout as pause } from 'node:timers/promises'
import type { Bench } from '../bench.ts'
import { Child } from '../child.ts'
import { type Figure, formatNumber, type Reach } from '../figure.ts'
import type { BullmqCalls } from '../peers/bullmq.ts'
import type { PeerCalls } from '../peers/graphile-worker.ts'
import { type RedisForBench, redisChoices } from '../peers/redis-for-bench.ts'
import { perMessage } from '../server-costs.ts'
import { median } from '../statistics.ts'
import { dispatchBacklog } from './dispatch.ts'

const PART = 'peers'
const LANES = 1_000
// More than either runs in a second, on a machine far better than ours.
const GRAPHILE_PER_SECOND = 30_000
const BULLMQ_PER_SECOND = 40_000
const OURS_PER_SECOND = { sqlite: 120_000, postgres: 60_000 }

interface Turn {
  readonly addedPerSecond: number
  readonly donePerSecond: number
  /** What else there is to know. */
  readonly note: string
  readonly cpuUs: number
}

/** What others do on the same server, in turns with us. */
export async function measurePeers(bench: Bench): Promise<Figure[]> {
  const ours: number[] = []
  const batched: Turn[] = []
  const plain: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const { perSecond } = await dispatchBacklog(bench, 'postgres', { lanes: LANES, mostPerSecond: OURS_PER_SECOND })
    ours.push(perSecond)
    batched.push(await takeGraphileTurn(bench, true))
    plain.push(await takeGraphileTurn(bench, false))
    bench.options.tell(
      `  round ${round}: ours ${formatNumber(perSecond)}/s, graphile-worker ${say(batched)}, without batches ${say(plain)}`,
    )
  }
  const name = 'graphile-worker 0.18.0, 1,000 serial queues'
  return [
    { ...rateOf('dispatch, 1,000 lanes, beside the others', ours), note: 'ours, on PostgreSQL' },
    ...figuresOf(`${name}, in batches`, batched),
    ratioOf(`dispatch / ${name}, in batches`, { ours, theirs: batched, reach: { atLeast: 30 } }),
    ...figuresOf(`${name}, one by one`, plain),
    ratioOf(`dispatch / ${name}, one by one`, { ours, theirs: plain, reach: null }),
    ...(await measureBullmq(bench, ours)),
  ]
}

async function takeGraphileTurn(bench: Bench, isBatched: boolean): Promise<Turn> {
  const server = await bench.postgres()
  const url = await server.createDatabase()
  const child = bench.keep(new Child<PeerCalls>('./peers/graphile-worker.ts'))
  await child.ask('prepare', { url })
  const jobs = Math.ceil(GRAPHILE_PER_SECOND * (bench.options.seconds + bench.warmUpSeconds))
  const addedMs = await child.ask('add', { jobs, lanes: LANES })
  await server.rest()
  await child.ask('run', { url, isBatched })
  const before = await server.spent()
  const done = await measureDone(bench, child, jobs)
  const spent = perMessage(before, await server.spent(), done.all)
  await bench.end(child)
  await server.dropDatabase(url)
  const wrong = done.outOfOrder
  const order = wrong === 0 ? 'every job came in the order of its queue' : `${formatNumber(wrong)} jobs out of order`
  const note = `${formatNumber(spent?.cpuUs ?? Number.NaN)} µs in the server; ${formatNumber(spent?.walBytes ?? 0)} B of log; ${order}`
  return { addedPerSecond: (jobs / addedMs) * 1000, ...done, note }
}

async function measureBullmq(bench: Bench, ours: readonly number[]): Promise<Figure[]> {
  // It is no dependency of ours, because npm cannot install it from every registry: see docs/performance.md.
  const folder = process.env['NUNCIO_BENCH_BULLMQ']
  if (folder === undefined) {
    bench.options.tell('  BullMQ left out: NUNCIO_BENCH_BULLMQ names no folder in which it is installed')
    return [leftOut('NUNCIO_BENCH_BULLMQ named no folder in which it is installed')]
  }
  const figures: Figure[] = []
  for (const choose of redisChoices(bench.newFolder())) {
    const redis = await choose()
    if (!redis) continue
    bench.keep(redis)
    const turns: Turn[] = []
    for (let round = 1; round <= bench.options.rounds; round += 1) {
      turns.push(await takeBullmqTurn(bench, folder, redis))
      bench.options.tell(`  round ${round}: BullMQ, ${redis.how}: ${say(turns)}`)
    }
    await bench.end(redis)
    const name = `BullMQ without order, ${redis.how}`
    figures.push(
      ...figuresOf(name, turns),
      ratioOf(`dispatch / ${name}`, { ours, theirs: turns, reach: { atLeast: 1 } }),
    )
  }
  if (figures.length > 0) return figures
  bench.options.tell('  BullMQ left out: there is no Redis')
  return [leftOut('no Redis was reachable, and redis-server is not installed')]
}

async function takeBullmqTurn(bench: Bench, folder: string, { url }: RedisForBench): Promise<Turn> {
  const child = bench.keep(new Child<BullmqCalls>('./peers/bullmq.ts'))
  await child.ask('prepare', { folder, url })
  const jobs = Math.ceil(BULLMQ_PER_SECOND * (bench.options.seconds + bench.warmUpSeconds))
  const addedMs = await child.ask('add', { jobs })
  await child.ask('run', { url })
  const done = await measureDone(bench, child, jobs)
  await bench.end(child)
  return { addedPerSecond: (jobs / addedMs) * 1000, ...done, note: '' }
}

/** Counts in the middle, as with our own dispatch. */
async function measureDone(bench: Bench, child: Child<Pick<PeerCalls, 'progress'>>, jobs: number) {
  await bench.warmUp()
  const before = await child.ask('progress', null)
  await pause(bench.options.seconds * 1000)
  const after = await child.ask('progress', null)
  if (after.done === jobs) bench.options.tell('  ! its jobs were gone before the end')
  const done = after.done - before.done
  return {
    donePerSecond: (done / (after.atMs - before.atMs)) * 1000,
    all: after.done,
    outOfOrder: after.outOfOrder,
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) / done) * 1e6,
  }
}

function rateOf(name: string, rounds: readonly number[]) {
  return { part: PART, name, value: median(rounds), unit: '/s', reach: null, rounds }
}

function figuresOf(name: string, turns: readonly Turn[]): Figure[] {
  const added = turns.map(({ addedPerSecond }) => addedPerSecond)
  const done = turns.map(({ donePerSecond }) => donePerSecond)
  const cpu = median(turns.map(({ cpuUs }) => cpuUs))
  const notes = turns.slice(-1).flatMap(({ note }) => (note === '' ? [] : [note]))
  return [
    { ...rateOf(`${name}: added`, added), note: '1,000 in a call, one call after the other' },
    { ...rateOf(`${name}: run`, done), note: [`${formatNumber(cpu)} µs of CPU each in Node`, ...notes].join('; ') },
  ]
}

interface Compared {
  readonly ours: readonly number[]
  readonly theirs: readonly Turn[]
  readonly reach: Reach | null
}

function ratioOf(name: string, { ours, theirs, reach }: Compared): Figure {
  const done = theirs.map(({ donePerSecond }) => donePerSecond)
  const rounds = ours.map((rate, place) => rate / (done[place] ?? Number.NaN))
  return { part: PART, name, value: median(ours) / median(done), unit: '', reach, rounds, note: '' }
}

function leftOut(why: string): Figure {
  return { part: PART, name: 'BullMQ', value: Number.NaN, unit: '', reach: null, rounds: [], note: `left out: ${why}` }
}

function say(turns: readonly Turn[]): string {
  const last = turns.at(-1)
  return `${formatNumber(last?.donePerSecond ?? 0)}/s (added at ${formatNumber(last?.addedPerSecond ?? 0)}/s)`
}
