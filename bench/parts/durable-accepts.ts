import { type Bench, type LoadSide, loadOf, type Target } from '../bench.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import type { LoadResult } from '../load-run.ts'
import type { MadeData } from '../made-data.ts'
import { type PerMessage, perMessage, roomFigures, serverFigures, spentBy } from '../server-costs.ts'
import { median } from '../statistics.ts'
import { type Top, topOf } from '../top-rate.ts'

const PART = 'accepts'
const SOCKETS = [64, 256]
const LANES = 100

type Loaded = Awaited<ReturnType<Bench['load']>>

interface Turn {
  readonly sockets: number
  readonly reference: Loaded
  readonly service: Loaded
  readonly server: PerMessage | null
}

/** Accepting alone, with the lanes paused: the real service compared with a route that stores nothing. */
export async function measureDurableAccepts(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const data = await bench.data({ engine, connections: LANES, channel: 'sandbox', state: 'paused' })
  const service = await bench.service(data)
  await service.start()
  const target = { port: service.settings.port, pid: service.pid }
  const turns = await takeTurns(bench, data, target)
  const top = topOf(turns, ({ service }) => service.perSecond)
  const half = await atHalfRate(bench, loadOf(data, target), top)
  const room = await roomFigures(PART, 'queued', data)
  await bench.end(service)
  await bench.forget(data)
  return [...rates(turns), ratio(turns), ...half, ...serverFigures(PART, 'durable accepts', turns), ...room]
}

async function takeTurns(bench: Bench, data: MadeData, target: Target): Promise<Turn[]> {
  const { rounds, isQuick, print } = bench.options
  const turns: Turn[] = []
  for (let round = 1; round <= rounds; round += 1) {
    for (const sockets of isQuick ? SOCKETS.slice(0, 1) : SOCKETS) {
      const reference = await bench.load({ ...loadOf(data, await bench.reference()), sockets })
      const before = await spentBy(bench, data.engine)
      const service = await bench.load({ ...loadOf(data, target), sockets })
      const server = perMessage(before, await spentBy(bench, data.engine), service.allReplies)
      turns.push({ sockets, reference, service, server })
      print(`  round ${round}, ${sockets} connections: reference ${say(reference)}, service ${say(service)}`)
    }
  }
  return turns
}

async function atHalfRate(bench: Bench, side: LoadSide, top: Top): Promise<Figure[]> {
  const results: LoadResult[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    const result = await bench.load({ ...side, sockets: top.sockets, ratePerSecond: top.perSecond / 2 })
    bench.options.print(
      `  half rate, round ${round}: ${formatNumber(result.perSecond)}/s, p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms`,
    )
    results.push(result)
  }
  const common = { part: PART, unit: 'ms', note: `at ${formatNumber(top.perSecond / 2)}/s, ${top.sockets} connections` }
  const p50 = results.map(({ p50Ms }) => p50Ms)
  const p99 = results.map(({ p99Ms }) => p99Ms)
  return [
    { ...common, name: 'accept p50 at half the top rate', value: median(p50), reach: null, rounds: p50 },
    { ...common, name: 'accept p99 at half the top rate', value: median(p99), reach: { atMost: 10 }, rounds: p99 },
  ]
}

function rates(turns: readonly Turn[]): Figure[] {
  return [...new Set(turns.map(({ sockets }) => sockets))].flatMap((sockets) => {
    const those = turns.filter((turn) => turn.sockets === sockets)
    return (['reference', 'service'] as const).map((side) => rateOf(side, sockets, those))
  })
}

function rateOf(side: 'reference' | 'service', sockets: number, turns: readonly Turn[]): Figure {
  const results = turns.map((turn) => turn[side])
  const rounds = results.map(({ perSecond }) => perSecond)
  const p99 = median(results.map(({ p99Ms }) => p99Ms))
  const share = median(results.map(({ cpuShare }) => cpuShare))
  const cpu = median(results.map(({ serverCpuUs }) => serverCpuUs))
  return {
    part: PART,
    name: `${side === 'reference' ? 'bare route' : 'durable accepts'}, ${sockets} connections`,
    value: median(rounds),
    unit: '/s',
    reach: null,
    rounds,
    note: `p99 ${formatNumber(p99)} ms; ${formatNumber(cpu)} µs of CPU each; generator used ${Math.round(share * 100)} % of a core`,
  }
}

function ratio(turns: readonly Turn[]): Figure {
  const reference = topOf(turns, (turn) => turn.reference.perSecond)
  const service = topOf(turns, (turn) => turn.service.perSecond)
  return {
    part: PART,
    name: 'durable accepts / bare route',
    value: service.perSecond / reference.perSecond,
    unit: '',
    reach: { atLeast: 0.5 },
    rounds: turns.map((turn) => turn.service.perSecond / turn.reference.perSecond),
    note: `top rates: ${formatNumber(service.perSecond)}/s and ${formatNumber(reference.perSecond)}/s`,
  }
}

function say({ perSecond, p99Ms, cpuShare, serverCpuUs }: Loaded): string {
  return `${formatNumber(perSecond)}/s (p99 ${p99Ms} ms, ${formatNumber(serverCpuUs)} µs CPU each, generator ${Math.round(cpuShare * 100)} %)`
}
