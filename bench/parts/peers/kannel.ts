import { type Bench, loadOf } from '../../bench.ts'
import { ENGINE_TITLES, ENGINES, type EngineName } from '../../engine.ts'
import { type Figure, formatNumber } from '../../figure.ts'
import type { MadeData } from '../../made-data.ts'
import { installedKannel, KANNEL_TAKES, Kannel } from '../../peers/kannel.ts'
import { leftOut, rateOf, ratioOf } from './turns.ts'

const LANES = 100
// Kannel writes an answer in two pieces, and the second may wait 40 ms until the first was confirmed. More connections are then
// the only help. The best of these numbers counts.
const SOCKETS = [64, 256]

interface Rates {
  readonly engine: EngineName
  readonly ours: number[]
  readonly theirs: number[]
}

/** Accepting: our durable one compared with Kannel's, which writes a file for each message and does not flush it. */
export async function measureKannel(bench: Bench): Promise<Figure[]> {
  const version = installedKannel()
  if (version === null) {
    return [leftOut(bench, 'Kannel', 'it is not installed: `npm run bench:peers` tries to (Debian’s package kannel)')]
  }
  const both: Rates[] = []
  for (const engine of ENGINES) both.push(await compareOn(bench, engine))
  const name = `Kannel ${version}, spool store`
  const theirs = both.flatMap((rates) => rates.theirs)
  return [
    {
      ...rateOf(`${name}: accepts`, theirs),
      note: `the best of ${SOCKETS.join(' and ')} connections; nothing is flushed`,
    },
    ...both.map(({ engine, ...rates }) =>
      ratioOf(`durable accepts on ${ENGINE_TITLES[engine]} / ${name}`, { ...rates, reach: { atLeast: 8 } }),
    ),
  ]
}

async function compareOn(bench: Bench, engine: EngineName): Promise<Rates> {
  const rates: Rates = { engine, ours: [], theirs: [] }
  const data = await bench.data({ engine, connections: LANES, channel: 'sandbox', state: 'paused' })
  const service = await bench.service(data)
  await service.start()
  const side = loadOf(data, { port: service.settings.port, pid: service.pid })
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const ours = await atBest(async (sockets) => (await bench.load({ ...side, sockets })).perSecond)
    const theirs = await atBest((sockets) => loadKannel(bench, data, sockets))
    rates.ours.push(ours)
    rates.theirs.push(theirs)
    bench.options.print(`  round ${round} on ${engine}: ours ${formatNumber(ours)}/s, Kannel ${formatNumber(theirs)}/s`)
  }
  await bench.end(service)
  await bench.forget(data)
  return rates
}

async function atBest(load: (sockets: number) => Promise<number>): Promise<number> {
  const rates: number[] = []
  for (const sockets of SOCKETS) rates.push(await load(sockets))
  return Math.max(...rates)
}

async function loadKannel(bench: Bench, { numbers }: MadeData, sockets: number): Promise<number> {
  // A new one each time: a full spool slows the file system down, not Kannel.
  const kannel = bench.keep(await Kannel.start(bench.newFolder()))
  const { port, pid } = kannel
  const foreign = { requests: kannel.requests(numbers), takenStatus: KANNEL_TAKES }
  const { perSecond, allReplies } = await bench.load({ port, pid, token: '', numbers, sockets, foreign })
  const stored = kannel.stored()
  if (stored < allReplies) bench.options.print(`  ! of ${allReplies} messages Kannel has stored ${stored}`)
  await bench.end(kannel)
  return perSecond
}
