import type { Bench } from '../../bench.ts'
import { Child } from '../../child.ts'
import { type Figure, formatNumber } from '../../figure.ts'
import type { PeerCalls } from '../../peers/graphile-worker.ts'
import { perMessage } from '../../server-costs.ts'
import { dispatchBacklog } from '../dispatch.ts'
import { measureBullmq } from './bullmq.ts'
import { measureKannel } from './kannel.ts'
import { doneRates, figuresOf, measureDone, rateOf, ratioOf, say, type Turn } from './turns.ts'

const LANES = 1_000
// More jobs than it runs in a second, even on a far better machine.
const GRAPHILE_PER_SECOND = 30_000
const OURS_PER_SECOND = { sqlite: 120_000, postgres: 60_000 }

/** Measures other software on the same machine, in turns with ours. */
export async function measurePeers(bench: Bench): Promise<Figure[]> {
  const ours: number[] = []
  const batched: Turn[] = []
  const plain: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const { perSecond } = await dispatchBacklog(bench, 'postgres', { lanes: LANES, mostPerSecond: OURS_PER_SECOND })
    ours.push(perSecond)
    batched.push(await takeGraphileTurn(bench, true))
    plain.push(await takeGraphileTurn(bench, false))
    bench.options.print(
      `  round ${round}: ours ${formatNumber(perSecond)}/s, graphile-worker ${say(batched)}, without batches ${say(plain)}`,
    )
  }
  const name = 'graphile-worker 0.18.0, 1,000 serial queues'
  return [
    { ...rateOf('dispatch, 1,000 lanes, beside the others', ours), note: 'ours, on PostgreSQL' },
    ...figuresOf(`${name}, in batches`, batched),
    ratioOf(`dispatch / ${name}, in batches`, { ours, theirs: doneRates(batched), reach: { atLeast: 30 } }),
    ...figuresOf(`${name}, one by one`, plain),
    ratioOf(`dispatch / ${name}, one by one`, { ours, theirs: doneRates(plain), reach: null }),
    ...(await measureBullmq(bench, ours)),
    ...(await measureKannel(bench)),
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
