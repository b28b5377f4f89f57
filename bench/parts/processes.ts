import { findFreePort } from '../../test/support/black-box/free-port.ts'
import { type Bench, loadOf } from '../bench.ts'
import { Child } from '../child.ts'
import type { EngineName } from '../engine.ts'
import { type Figure, formatNumber } from '../figure.ts'
import { machineMs } from '../machine-clock.ts'
import { cpuSecondsOfFamily } from '../process-facts.ts'
import type { ProcessesCalls } from '../serve-in-processes.ts'
import { median } from '../statistics.ts'

const PART = 'processes'
const COUNTS = [1, 2, 4]
const LANES = 1_000
const SOCKETS = 128

interface Turn {
  readonly processes: number
  readonly perSecond: number
  readonly cpuUs: number
}

/** Several processes on one database. With two cores this shows the cost of more processes, not their benefit. */
export async function measureProcesses(bench: Bench, engine: EngineName): Promise<Figure[]> {
  const accepts: Turn[] = []
  const both: Turn[] = []
  for (let round = 1; round <= bench.options.rounds; round += 1) {
    for (const processes of COUNTS) {
      const accept = await takeAcceptTurn(bench, engine, processes)
      const deliver = await takeDeliverTurn(bench, engine, processes)
      accepts.push(accept)
      both.push(deliver)
      bench.options.print(
        `  round ${round}, ${processes} processes: accepted ${formatNumber(accept.perSecond)}/s, ` +
          `accepted and delivered ${formatNumber(deliver.perSecond)}/s`,
      )
    }
  }
  return COUNTS.flatMap((processes) => [
    figureOf('durable accepts', processes, accepts),
    figureOf('accept and deliver', processes, both),
  ])
}

/** The real service with paused lanes. */
async function takeAcceptTurn(bench: Bench, engine: EngineName, processes: number): Promise<Turn> {
  const data = await bench.data({ engine, connections: LANES, channel: 'sandbox', state: 'paused' })
  const service = await bench.service(data, { serveArguments: ['--processes', String(processes)] })
  await service.start()
  const target = { port: service.settings.port, pid: service.pid }
  const { perSecond, serverCpuUs } = await bench.load({ ...loadOf(data, target), sockets: SOCKETS })
  await bench.end(service)
  await bench.forget(data)
  return { processes, perSecond, cpuUs: serverCpuUs }
}

async function takeDeliverTurn(bench: Bench, engine: EngineName, processes: number): Promise<Turn> {
  const data = await bench.data({ engine, connections: LANES, channel: 'instant', state: 'active' })
  const child = bench.keep(new Child<ProcessesCalls>('./serve-in-processes.ts'))
  const environment = { ...data.environment, NUNCIO_PORT: String(await findFreePort()) }
  const port = await child.ask('start', { dataDir: data.dataDir, environment, processes })
  const loading = bench.load({ ...loadOf(data, { port, pid: child.pid }), sockets: SOCKETS })
  await bench.warmUp()
  const before = await progressOf(port, child.pid)
  const { perSecond } = await loading
  const after = await progressOf(port, child.pid)
  await bench.end(child)
  await bench.forget(data)
  const delivered = after.delivered - before.delivered
  return {
    processes,
    perSecond: Math.min(perSecond, (delivered / (after.atMs - before.atMs)) * 1000),
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) / delivered) * 1e6,
  }
}

/** The deliveries of all processes together. */
async function progressOf(port: number, pid: number) {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`)
  const atMs = machineMs()
  const counted = /^nuncio_attempts_total\{[^}]*outcome="accepted"[^}]*\} (\d+)$/m.exec(await reply.text())
  return { atMs, delivered: Number(counted?.[1] ?? 0), cpuSeconds: cpuSecondsOfFamily(pid) }
}

function figureOf(what: string, processes: number, turns: readonly Turn[]): Figure {
  const those = turns.filter((turn) => turn.processes === processes)
  const rounds = those.map(({ perSecond }) => perSecond)
  const cpu = median(those.map(({ cpuUs }) => cpuUs))
  const name = `${what}, ${processes} ${processes === 1 ? 'process' : 'processes'}`
  const note = `${formatNumber(cpu)} µs of CPU each in Node; all of them share our cores`
  return { part: PART, name, value: median(rounds), unit: '/s', reach: null, rounds, note }
}
